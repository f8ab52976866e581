# Two commands do everything on a fresh machine: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help setup demo docs test format clean

help:
	@echo "make demo    set up, then make a Clock and a Pizza by hand, train two networks to become them, draw all four (demo/), and report on the two (demo/report.html)"
	@echo "make docs    set up, then build the documentation site into build/docs (start at build/docs/index.html)"
	@echo "make test    set up, then check formatting, lint and types and run the tests"
	@echo "make format  rewrite the code in the house format"
	@echo "make clean   remove .venv, caches, build/ and demo/"

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	@touch $@

# A Clock and a Pizza made by hand, then two networks that find them on their own. Only about a third of all runs end with a circular
# embedding, so the two seeds are ones that do; they are no guarantee on a machine that rounds differently (README).
TRAIN := train --device cpu --epochs 6000 --snapshot 200 --snapshot 1000 --snapshot 3000 --out demo/trained --figures demo/figures

demo: setup
	$(BIN)/algophase handmade clock --out demo/handmade
	$(BIN)/algophase handmade pizza --out demo/handmade
	$(BIN)/algophase analyze demo/handmade --figures demo/figures
	$(BIN)/algophase $(TRAIN) --attention-rate 0 --first-seed 0
	$(BIN)/algophase $(TRAIN) --attention-rate 1 --first-seed 1
	$(BIN)/algophase report demo/trained --population gallery/fixed-width --title "Two networks trained here" --out demo/report.html
	@echo "networks and histories: demo/trained; figures: demo/figures; report, for a browser: demo/report.html"

docs: setup
	$(BIN)/mkdocs build --strict
	@echo "the site: build/docs/index.html"

test: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build demo
