# One command for everything; `make` alone lists the targets.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup browser java test quick static lint check fix fuzz bench demo docs site lock clean

help:           ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) java browser  ## create .venv with every package pinned; find or install Java

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "augury needs Python 3.11 or later, but $(PYTHON) is $$($(PYTHON) --version 2>&1);" \
	       "name another one with: make setup PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
	  echo "could not create $(VENV); on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "installing packages into $(VENV)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt setuptools
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt \
	  --no-build-isolation -e '.[spark,privacy,postgres,dev]'
	@touch $@

browser:         ## find or install Chromium, for the tests of pages
	@tools/ensure-browser || true

java:
	@tools/ensure-java

test: setup     ## run every test, Spark included
	HYPOTHESIS_PROFILE=ci PYTHON=$(BIN)/python tools/test

quick: $(STAMP) ## run the tests that need neither Spark nor patience
	AUGURY_ROTATION=$${AUGURY_ROTATION:-$$(($$(date +%s) / 86400))} \
	  $(PYTEST) -q -n auto -m "not spark and not slow"

static: $(STAMP)  ## lint, types, import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/mypy

lint: static    ## the same, and that no property test is skipped
	$(PYTEST) -qq --collect-only > /dev/null

check: lint     ## what lint does, documents and contracts: all but the long tests
	$(PYTEST) -q -n auto tests/docs tests/contracts

fix: $(STAMP)   ## let ruff repair what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

fuzz: $(STAMP)  ## long property runs (AUGURY_FUZZ_EXAMPLES mutations of scripts, 100000 unless set)
	HYPOTHESIS_PROFILE=nightly AUGURY_FUZZ_EXAMPLES=$${AUGURY_FUZZ_EXAMPLES:-100000} \
	  $(PYTEST) -q -n auto -m "hypothesis and not spark"
	AUGURY_KILLS=$${AUGURY_KILLS:-50} $(PYTEST) -q tests/fault_tolerance/test_kills.py
	AUGURY_KILLS=$${AUGURY_KILLS:-200} $(PYTEST) -q tests/stores/test_recovery.py
	AUGURY_KILLS=$${AUGURY_KILLS:-100} AUGURY_HOURS=24 $(PYTEST) -q tests/kafka/test_hospital.py
	AUGURY_ROTATION=all $(PYTEST) -q tests/chain/test_on_spark.py

bench: setup    ## measure on a tenth, in an hour; AUGURY_BENCH_SCALE=1 measures what docs/benchmarks says
	AUGURY_BENCH_SCALE=$${AUGURY_BENCH_SCALE:-0.1} $(BIN)/python benchmarks/run_all.py $(ARGS)

demo: setup     ## find thieves in a simulated store with known truth; writes out/demo.html
	$(BIN)/augury demo

docs: $(STAMP)  ## write the outputs that the documents show anew
	PYTHONPATH=tests $(BIN)/python -m docs.console
	PYTHONPATH=tests $(BIN)/python -m docs.picture

site: $(STAMP)  ## write the documents as a site into out/site
	$(BIN)/zensical build --clean --strict

lock:           ## write constraints.txt anew from the newest allowed packages
	tools/lock $(PYTHON)

clean:          ## remove what can be made again (keeps .venv)
	rm -rf out build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
