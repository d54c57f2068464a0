# `make up` runs Gateleg, `make test` tests it; both set up what they need in .venv.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null)
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help up test unit lint types format crash peers bench docs conformance clean

help: ## Show what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

up: $(READY) ## Run Gateleg on http://127.0.0.1:8000 with some sample tables
	$(BIN)/gateleg engine serve --path data --port 8000 --demo

test: lint types unit ## Everything CI runs: style, types, rooms and tests

unit: $(READY) ## The tests alone
	$(BIN)/pytest

lint: $(READY) ## Style, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(READY) ## mypy, strict
	$(BIN)/mypy

format: $(READY) ## Rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

crash: $(READY) ## Kill processes at random moments and look for lost writes (minutes)
	$(BIN)/pytest -m crash tests

peers: $(READY) ## Tests beside other clients and servers, from npm and PyPI
	$(BIN)/pytest -m peer tests

bench: $(READY) ## Measure beside other emulators and data layers (minutes; needs npm for two of them)
	$(BIN)/python bench/engine.py
	$(BIN)/python bench/model.py

conformance: $(READY) ## Run a public suite against the endpoint: make conformance SUITE=<its checkout>
	$(BIN)/python bench/conformance.py "$(SUITE)"

docs: $(READY) ## Write the reference pages that the code generates
	$(BIN)/python docs/generate.py

clean: ## Remove the environment and caches; data stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Gateleg needs Python 3.11 or later: make PYTHON=python3.11 $(MAKECMDGOALS)")'
ifneq ($(UV),)
	$(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
	$(UV) pip install --quiet --python $(BIN)/python -e '.[aws,web,ai,delphi]' --group dev
else
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet -e '.[aws,web,ai,delphi]' --group dev
endif
	@touch $(READY)
