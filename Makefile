# Everything a contributor runs. The first use builds .venv; later uses find it ready while pyproject.toml is unchanged.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo environments test test-all test-slow test-frameworks check format soak bench example reference clean

# The environment is named by what it was built from: the place of this checkout and the text of pyproject.toml.
KEY := $(shell { pwd; cat pyproject.toml; } | cksum | cut -d ' ' -f 1)
RUNTIME := .venv/.runtime-$(KEY)
DEV := .venv/.dev-$(KEY)
FRAMEWORKS := .env-frameworks/.ready-$(KEY)
RUN := .venv/bin/python
CHECKED := src tests bench examples docs

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' Makefile

demo: $(RUNTIME) ## compact a recorded agent session, step by step, offline
	@$(RUN) examples/demo.py

environments: $(DEV) $(FRAMEWORKS) ## build what all tests run in; with -j2 side by side

test: $(DEV) ## run the quick tests: before each commit
	@$(RUN) -m pytest

test-all: export PLIMSOLL_TESTS := all
test-all: export PYTEST_ADDOPTS += --numprocesses=auto --dist=worksteal
test-all: environments ## run all tests but the long runs, each once, with every random example
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-slow
	@$(MAKE) --no-print-directory test-frameworks

test-slow: $(DEV) ## run the slow tests, which make test leaves out
	@PLIMSOLL_TESTS=all $(RUN) -m pytest -m "slow and not soak"

test-frameworks: $(FRAMEWORKS) ## run the tests of the adapters with the real frameworks; needs a package index the first time
	@PLIMSOLL_TESTS=all .env-frameworks/bin/python -m pytest -n auto --dist worksteal -m "framework and not soak" -o filterwarnings=default tests/frameworks tests/ways_in

check: $(DEV) ## type check, lint, formatting
	@$(RUN) -m mypy
	@$(RUN) -m ruff check $(CHECKED)
	@$(RUN) -m ruff format --check $(CHECKED)

format: $(DEV) ## rewrite the sources in the house format
	@$(RUN) -m ruff check --fix $(CHECKED)
	@$(RUN) -m ruff format $(CHECKED)

soak: $(DEV) $(FRAMEWORKS) ## run the long tests, then those of the adapters
	@PLIMSOLL_TESTS=all $(RUN) -m pytest -m "soak and not framework" --timeout 3600
	@PLIMSOLL_TESTS=all .env-frameworks/bin/python -m pytest -m "soak and framework" --timeout 3600 -o filterwarnings=default tests/ways_in

bench: $(DEV) ## time plimsoll beside its peers; needs a package index the first time
	@$(RUN) bench/run.py

example: $(DEV) ## record examples/conversation.json again, by running its commands on a copy of this tree
	@$(RUN) examples/record.py

reference: $(RUNTIME) ## write docs/reference.md again, from signatures and docstrings
	@$(RUN) docs/make_reference.py

clean: ## remove the environments and what the tools left behind
	rm -rf .venv .env-bench .env-frameworks build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUNTIME):
	@.ci/environment runtime "$@"

$(DEV): $(RUNTIME)
	@.ci/environment dev "$@"

$(FRAMEWORKS):
	@.ci/environment frameworks "$@"
