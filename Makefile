# Two commands do everything on a fresh machine: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help setup demo test format clean

help:
	@echo "make demo    set up, then analyse a Clock and a Pizza made by hand and draw them (demo/)"
	@echo "make test    set up, then check formatting, lint and types and run the tests"
	@echo "make format  rewrite the code in the house format"
	@echo "make clean   remove .venv, caches and demo/"

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	@touch $@

demo: setup
	$(BIN)/algophase handmade clock --out demo
	$(BIN)/algophase handmade pizza --out demo
	$(BIN)/algophase analyze demo --figures demo/figures

test: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis demo
