# Two commands: `make quickstart` and `make test`. Each makes the environment first, if it is not there.
#
#   PYTHON       the interpreter the environment is made from       make quickstart PYTHON=python3.12
#   TORCH_INDEX  another package index for torch: a CPU or CUDA one  make quickstart TORCH_INDEX=URL
#   INSTALL      editable (default) or wheel                         make test INSTALL=wheel

PYTHON ?= python3
VENV ?= .venv
TORCH_INDEX ?=
INSTALL ?= editable
PYTEST_ARGS ?= -n 2 --dist loadfile
RESULTS ?= quickstart.db

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-$(INSTALL)
# torch goes first and pinned, so that no other requirement can pull another build of it.
TORCH := $(shell sed -n 's/^torch==/torch==/p' constraints.txt)

.PHONY: quickstart test test-slow test-gpu test-services coverage mutants lint docs clean

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) $(TORCH)
ifeq ($(INSTALL),wheel)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt build
	rm -rf dist && $(BIN)/python -m build --quiet --wheel
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps dist/*.whl
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$$(ls dist/*.whl)[dev]"
else
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
endif
	@touch $@

quickstart: $(STAMP)
	$(BIN)/hashbench sweep experiments/quickstart.yaml --db $(RESULTS)
	$(BIN)/hashbench report quickstart --db $(RESULTS) --table 1
	$(BIN)/hashbench report quickstart --db $(RESULTS) --table 2
	$(BIN)/hashbench report quickstart --db $(RESULTS) --table 3

test: $(STAMP)
	$(BIN)/pytest $(PYTEST_ARGS)

test-slow: $(STAMP)
	$(BIN)/pytest -m slow

# The same training code on this machine's GPU; each test is skipped, with the reason, where torch finds none.
test-gpu: $(STAMP)
	$(BIN)/pytest -m gpu -rs

# Tests against PostgreSQL, stand-ins for the hub and W&B, and in Chromium; each is skipped, with the reason, where the program is not installed.
test-services: $(STAMP)
	$(BIN)/pytest -m services -rs

# Lines that the tests run, subprocesses included; fails below 90 %.
coverage: $(STAMP)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(PYTEST_ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# Twenty small faults, one at a time: does a test catch each?
mutants: $(STAMP)
	$(BIN)/python tests/mutants.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check
	$(BIN)/zensical build --strict --clean

docs: $(STAMP)
	$(BIN)/python docs/generate.py
	$(BIN)/zensical build --strict --clean

clean:
	rm -rf $(VENV) dist build site .cache .pytest_cache .mypy_cache .ruff_cache .coverage .coverage.*
