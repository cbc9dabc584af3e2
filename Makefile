# `make help` lists the targets. Every target does its own set-up in a virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RESULTS ?= results
# Bytecode is made of what is imported, not of everything: that would be half of the time of an installation.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e
# Test processes: as many as there are cores; each compiles and loads kernels for itself, so more take longer.
TESTERS ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() or 1)')

# Bytecode is kept, whatever the environment says: the tests start the command line some hundred times.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test test-exhaustive test-oldest lint check docs fuzz bench reproduction clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

demo: $(VENV)/.run  ## run configs/quickstart.yaml and draw its figure; needs no data and no network beyond pip
	$(BIN)/rrmbench run configs/quickstart.yaml -o $(RESULTS)
	$(BIN)/rrmbench plot $(RESULTS)/quickstart

test: $(VENV)/.test  ## lint, regression check and the core of the tests
	$(MAKE) -j2 lint check
	$(BIN)/python -m pytest -n $(TESTERS) --dist loadfile

SHARE ?= 1/1
test-exhaustive: $(VENV)/.test  ## what `make test` leaves out; SHARE=2/3 runs the second third of it
	$(BIN)/python -m pytest -n $(TESTERS) --dist worksteal -m exhaustive --share $(SHARE)

OLDEST := build/oldest
test-oldest:  ## what `make test` tests, with the oldest libraries that pyproject.toml allows
	$(MAKE) VENV=$(OLDEST) $(OLDEST)/.oldest
	$(OLDEST)/bin/python -m pytest -n $(TESTERS) --dist loadfile

lint: $(VENV)/.test  ## errors, layout, which wing imports which, types of the public names
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy

check: $(VENV)/.test  ## run configs/ci.yaml, verify the results and compare its passes with the committed baseline
	rm -rf build/check
	$(BIN)/rrmbench run configs/ci.yaml -o build/check --quiet
	$(BIN)/rrmbench verify build/check/ci >build/check/verified.txt || { grep -v "^ok" build/check/verified.txt; exit 1; }
	$(BIN)/rrmbench check build/check/ci --baseline configs/ci_baseline.json

docs: $(VENV)/.run  ## write docs/commands.md and docs/configuration.md from the code
	$(BIN)/python docs/reference.py

FUZZ ?= 50
fuzz: $(VENV)/.test  ## many times the fuzzing of the tests (FUZZ times): configurations, options, data files, results
	RRMBENCH_FUZZ=$(FUZZ) $(BIN)/python -m pytest tests/test_config_fuzz.py tests/test_data_fuzz.py tests/test_report_fuzz.py

reproduction: $(VENV)/.run  ## run configs/reproduction on the data of RRMBENCH_DATA (about two hours) and print the verdicts
	$(BIN)/rrmbench run configs/reproduction/*.yaml -o $(RESULTS)
	for folder in $(RESULTS)/reproduction_*/; do $(BIN)/rrmbench plot $$folder; done
	$(BIN)/python configs/reproduction/table.py $(RESULTS)

bench: $(VENV)/.peers  ## speed of kernels and harness, time to accuracy next to other libraries (RRMBENCH_DATA helps)
	$(BIN)/python tests/benchmarks/kernels.py
	$(BIN)/python tests/benchmarks/chains.py
	$(BIN)/python tests/benchmarks/inner.py
	$(BIN)/python tests/benchmarks/overhead.py
	$(BIN)/python tests/benchmarks/compare.py $(RESULTS)

clean:  ## remove the virtual environment and everything built
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache .hypothesis

$(VENV)/.made: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rrmbench needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.run: $(VENV)/.made
	$(INSTALL) .
	touch $@

$(VENV)/.test: $(VENV)/.made
	$(INSTALL) '.[test,parquet]'
	touch $(VENV)/.run $@

$(VENV)/.oldest: $(VENV)/.made tests/oldest.py
	$(BIN)/python tests/oldest.py >$(VENV)/oldest.txt
	$(INSTALL) '.[test,parquet]' -c $(VENV)/oldest.txt
	touch $@

$(VENV)/.peers: $(VENV)/.test
	$(INSTALL) '.[peers]'
	touch $@
