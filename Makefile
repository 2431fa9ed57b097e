# Two commands matter: `make demo` and `make test`. Both set up .venv by themselves.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Two test processes on two cores: more BLAS threads would only get in each other's way.
test test-all test-oldest test-seeds: export OMP_NUM_THREADS = 1
test test-all test-oldest test-seeds: export OPENBLAS_NUM_THREADS = 1

.PHONY: demo test test-all test-oldest test-seeds mutation lint bench docs lock dev-locked sbom audit clean

demo: $(VENV)/.demo
	$(BIN)/unsway demo -o demo

test: $(VENV)/.dev lint
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadgroup

test-all: $(VENV)/.all lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test-oldest: .venv-oldest/.installed
	.venv-oldest/bin/python -m pytest -m "not slow" -n 2 --dist loadgroup

# The fast suite in other orders and with other hypothesis examples: make test-seeds SEEDS="4 5"
SEEDS ?= 1 2 3
test-seeds: $(VENV)/.dev
	for seed in $(SEEDS); do \
		UNSWAY_TEST_SEED=$$seed $(BIN)/python -m pytest -m "not slow" -n 2 --dist loadgroup || exit 1; \
	done

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/logistic.py
	$(BIN)/python benchmarks/boosting.py
	$(BIN)/python benchmarks/defaults.py
	$(BIN)/python benchmarks/cost.py
	$(BIN)/python benchmarks/dask_fits.py
	$(BIN)/python benchmarks/worlds.py
	$(BIN)/python benchmarks/rivals.py
	$(BIN)/python benchmarks/combination.py
	$(BIN)/python benchmarks/minibatch.py
	$(BIN)/python benchmarks/networks.py
	$(BIN)/python benchmarks/training_step.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/external.py
	$(BIN)/python benchmarks/effects_from_files.py
	$(BIN)/python benchmarks/effects.py
	$(BIN)/python benchmarks/verdict.py --minutes 600
	$(BIN)/python benchmarks/verdict.py --page
	$(BIN)/python benchmarks/frontier.py
	$(BIN)/python benchmarks/known_truth.py
	$(BIN)/python benchmarks/levels.py --output benchmarks/.cache/levels
	$(BIN)/python benchmarks/levels.py --page --records benchmarks/.cache/levels
	$(BIN)/python benchmarks/partly_known.py
	$(BIN)/python benchmarks/outcomes.py
	$(BIN)/python benchmarks/outcome_rounds.py
	$(BIN)/python benchmarks/real_data.py
	$(BIN)/python benchmarks/correction.py
	$(BIN)/python benchmarks/alternatives.py
	$(BIN)/python benchmarks/measures.py
	$(BIN)/python benchmarks/weak_scores.py > benchmarks/weak_scores.md
	$(BIN)/python benchmarks/faults.py
	$(BIN)/python benchmarks/code_size.py
	$(BIN)/python benchmarks/readme_picture.py

docs: $(VENV)/.docs
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# Version and hash of every package of the development environment, and an environment of them.
lock: $(VENV)/bin/python
	$(BIN)/python scripts/supply.py lock requirements-dev.lock

dev-locked: $(VENV)/bin/python
	$(PIP) install --require-hashes --requirement requirements-dev.lock
	$(PIP) install --no-deps --editable .

# Which changes to the code the tests notice: hours; it goes on where it was stopped.
mutation: $(VENV)/.dev
	$(PIP) install --group mutation
	$(BIN)/python benchmarks/mutation.py
	$(BIN)/python benchmarks/mutation.py --page

sbom: $(VENV)/.dev
	$(BIN)/python scripts/supply.py sbom dist

audit: $(VENV)/.dev
	-$(PIP) install pip-audit
	$(BIN)/python scripts/supply.py audit requirements-dev.lock

clean:
	rm -rf $(VENV) .venv-oldest demo docs/_build docs/evidence/results docs/figures docs/reference/generated mutants .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	$(PIP) install --editable ".[cli,parquet,plot,report]"
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(PIP) install --group dev --editable ".[cli,dask,excel,lightgbm,parquet,plot,report,xgboost-cpu]"
	touch $@

$(VENV)/.all: $(VENV)/.dev
	$(PIP) install --group interop
	touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) install --group docs
	touch $@

.venv-oldest/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip --quiet install --upgrade "pip>=25.1"
	.venv-oldest/bin/python -m pip --quiet install --group oldest --editable ".[cli,parquet,plot,report]"
	touch $@
