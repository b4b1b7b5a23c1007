# Two commands: `make quickstart` and `make test`. Each makes the environment first, if it is not there.
# `make check` is the short one for every change: format, lint, types, unit tests.
#
#   PYTHON       the interpreter the environment is made from       make quickstart PYTHON=python3.12
#   TORCH_INDEX  another package index for torch: a CPU or CUDA one  make quickstart TORCH_INDEX=URL
#   INSTALL      editable (default) or wheel                         make test INSTALL=wheel

PYTHON ?= python3
VENV ?= .venv
TORCH_INDEX ?=
INSTALL ?= editable
PYTEST_ARGS ?= -n 2 --dist worksteal
RESULTS ?= quickstart.db

BIN := $(VENV)/bin
# Two stages: what a user needs, then what tests and linters need too.
USE := $(VENV)/.installed-$(INSTALL)
DEV := $(VENV)/.installed-$(INSTALL)-dev
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# torch goes first and pinned, so that no other requirement can pull another build of it.
TORCH := $(shell sed -n 's/^torch==/torch==/p' constraints.txt)

# Else each of hundreds of processes compiles every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: quickstart check lint test test-random test-machines test-slow test-gpu test-services coverage mutants bench bench-all docs clean

$(USE): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) $(TORCH)
ifeq ($(INSTALL),wheel)
	$(PIP) -c constraints.txt build
	rm -rf dist && $(BIN)/python -m build --quiet --wheel
	$(PIP) --force-reinstall --no-deps dist/*.whl
	$(PIP) -c constraints.txt "$$(ls dist/*.whl)[train]"
else
	$(PIP) -c constraints.txt -e ".[train]"
endif
	@touch $@

$(DEV): $(USE)
ifeq ($(INSTALL),wheel)
	$(PIP) -c constraints.txt "$$(ls dist/*.whl)[dev]"
else
	$(PIP) -c constraints.txt -e ".[dev]"
endif
	@touch $@

quickstart: $(USE)
	$(BIN)/hashbench quickstart --db $(RESULTS)
	@echo
	@echo "here it is called $(BIN)/hashbench; docs/keys.md has all keys, docs/extend.md shows embeddings of your own"

# What one runs after every change: about a minute on two cores once the caches are warm.
check: $(DEV)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/lint-imports > /dev/null || $(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/pytest $(PYTEST_ARGS) -q --unit

# What `make check` does not look at: pages from the code, and the site.
lint: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python docs/generate.py --check
	$(BIN)/zensical build --strict --clean

test: $(DEV)
	$(BIN)/pytest $(PYTEST_ARGS)

# All tests in a random order, which is printed; ORDER=N repeats one.
ORDER ?= $(shell date +%s)
test-random: $(DEV)
	$(BIN)/pytest $(PYTEST_ARGS) -p randomly --randomly-seed=$(ORDER)

test-slow: $(DEV)
	$(BIN)/pytest -m slow --timeout 0

# The tests that compute, with the code that libraries choose on other processors, and with 1, 2 and 4 threads.
test-machines: $(DEV)
	$(BIN)/python tests/machines.py -- $(PYTEST_ARGS)

# The same training code on this machine's GPU; each test is skipped, with the reason, where torch finds none.
test-gpu: $(DEV)
	$(BIN)/pytest -m gpu -rs

# Tests against PostgreSQL, stand-ins for the hub and W&B, and in Chromium; each is skipped, with the reason, where the program is not installed.
test-services: $(DEV)
	$(BIN)/pytest -n 2 --dist loadgroup -m services -rs

# Lines that the tests run, subprocesses included; fails below 90 %.
coverage: $(DEV)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(PYTEST_ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# Small faults, one at a time: does a test catch each?
mutants: $(DEV)
	$(BIN)/python tests/mutants.py

# Speed against named peers, which are installed for it: the table of docs/speed.md in a quarter of an hour, or all.
#   DATA  the folder with corpora/wikipedia and glue/sst2     make bench DATA=FOLDER
BENCH := $(VENV)/.installed-$(INSTALL)-bench

$(BENCH): $(DEV)
ifeq ($(INSTALL),wheel)
	$(PIP) -c constraints.txt "$$(ls dist/*.whl)[bench]"
else
	$(PIP) -c constraints.txt -e ".[bench]"
endif
	@touch $@

bench: $(BENCH)
	$(BIN)/python benchmarks/table.py $(if $(DATA),--data $(DATA))

bench-all: $(BENCH)
	$(BIN)/python benchmarks/table.py --all $(if $(DATA),--data $(DATA))

docs: $(DEV)
	$(BIN)/python docs/generate.py
	$(BIN)/zensical build --strict --clean

clean:
	rm -rf $(VENV) dist build site .cache .pytest_cache .mypy_cache .ruff_cache .coverage .coverage.*
