# Two commands do everything on a fresh machine: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
BIN := .venv/bin

# Where this is set, every program that a test starts compiles PyTorch's Python again, for 2.4 s.
export PYTHONDONTWRITEBYTECODE :=

# Tests run in this many processes, each with one thread: NumPy may be loaded before tests/conftest.py can say so.
WORKERS ?= 2
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses $(WORKERS) --dist worksteal

.PHONY: help setup setup-demo demo docs test types fast-tests test-slow test-rounding rounding-of-mkl rounding-of-aten guard campaign format clean

help:
	@echo "make demo           set up, then make a Clock and a Pizza by hand, train two networks to become them, draw all four (demo/), and report on the two (demo/report.html)"
	@echo "make docs           set up, then build the documentation site into build/docs (start at build/docs/index.html)"
	@echo "make test           set up, then check formatting and lint, and run the tests beside a check of the types (about 5 minutes on two cores)"
	@echo "make test-slow      set up, then run the long tests: every block of the docs, the pages in a browser, Ray, killed sweeps, long kernel cases"
	@echo "make test-rounding  set up, then run the numerical tests as processors of other kinds round, in two ways at once"
	@echo "make guard          set up, then compare what 17 networks and the paper's items give with what is kept (5 minutes)"
	@echo "make campaign       set up, then kill, damage and attack everything for MINUTES=20 minutes with SEED=0 (docs/reliability.md)"
	@echo "make format         rewrite the code in the house format"
	@echo "make clean          remove .venv, caches, build/ and demo/"

setup: .venv/installed

# The demo needs no more than what `pip install "algophase[explore]"` brings.
setup-demo: .venv/installed-demo

# Without --no-compile pip compiles every file of every package, most of which are never imported.
INSTALL = $(PYTHON) -m venv .venv && $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable

.venv/installed: pyproject.toml constraints.txt
	$(INSTALL) ".[dev]"
	@touch $@ $@-demo

.venv/installed-demo: pyproject.toml constraints.txt
	$(INSTALL) ".[explore]"
	@touch $@

# A Clock and a Pizza made by hand, then two networks that find them on their own. Only about a third of all runs end with a circular
# embedding, so the two seeds are ones that do; they are no guarantee on a machine that rounds differently (docs/tutorial.md).
TRAIN := train --device cpu --epochs 6000 --snapshot 200 --snapshot 1000 --snapshot 3000 --out demo/trained --figures demo/figures

demo: setup-demo
	$(BIN)/algophase handmade clock --out demo/handmade
	$(BIN)/algophase handmade pizza --out demo/handmade
	$(BIN)/algophase analyze demo/handmade --figures demo/figures
	$(BIN)/algophase $(TRAIN) --attention-rate 0 --first-seed 0
	$(BIN)/algophase $(TRAIN) --attention-rate 1 --first-seed 1
	$(BIN)/algophase report demo/trained --population gallery/fixed-width --title "Two networks trained here" --out demo/report.html
	@echo "networks and histories: demo/trained; figures: demo/figures; report, for a browser: demo/report.html"

docs: setup
	ALGOPHASE_REPORTS=all NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "the site: build/docs/index.html"

# The types are checked beside the tests: mypy uses one core, and the workers share the others.
test: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) --jobs 2 types fast-tests

types: setup
	$(BIN)/mypy

fast-tests: setup
	$(PYTEST) -m "not slow"

test-slow: setup
	$(PYTEST) -m slow

# What must come out the same whichever instructions a processor has. MKL and ATen compute for PyTorch, OpenBLAS for NumPy.
# Statistics of tables are NumPy's alone. The other items of the paper take a minute: they are run in one of the two ways.
NUMERICAL := tests/analysis tests/networks tests/runs
STATISTICS := $(wildcard tests/paper/test_population*.py) tests/sweeps/test_distributions.py
WITHOUT_PYTORCH := $(STATISTICS) $(addprefix tests/runs/test_,boundary.py comparison.py phase_shift.py)

# Both at once, each with all workers: the longer one has all cores when the other is done.
test-rounding: setup
	$(MAKE) --jobs 2 rounding-of-mkl rounding-of-aten

rounding-of-mkl: setup
	MKL_CBWR=COMPATIBLE $(PYTEST) -m "not slow" $(NUMERICAL) tests/paper $(addprefix --ignore=,$(WITHOUT_PYTORCH))

rounding-of-aten: setup
	ATEN_CPU_CAPABILITY=default OPENBLAS_CORETYPE=Prescott $(PYTEST) -m "not slow" $(NUMERICAL) $(STATISTICS)

# What the commands print of 17 networks, and the page of the paper, against what is kept.
guard: setup
	$(BIN)/python tests/guard/guard.py --paper

MINUTES ?= 20
SEED ?= 0

campaign: setup
	$(BIN)/python tests/campaign/campaign.py --minutes $(MINUTES) --seed $(SEED) --processes $(WORKERS)

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build demo
