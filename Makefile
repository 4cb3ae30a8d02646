# What do people do with this tree? `make demo`, `make test`, `make check`.

ifndef PYTHON
PYTHON := $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
endif
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo demo-vllm test test-engines chaos lint types arrows docs docs-check check clean

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Everything in an environment of our own, made once and again whenever pyproject.toml changes.
$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "ctxfuzz needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 2; }
	@if command -v uv >/dev/null; then \
		test -x $(BIN)/python || uv venv --quiet --python $(PYTHON) $(VENV); \
		uv pip install --quiet --python $(BIN)/python --editable . --group dev --group engines; \
	else \
		test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV); \
		$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1' && \
		$(BIN)/python -m pip install --quiet --editable . --group dev --group engines; \
	fi
	@touch $@

demo: $(STAMP) ## Find the edge of a simulated engine that really dies
	$(BIN)/ctxfuzz demo
	@command -v ctxfuzz >/dev/null || echo 'To paste these lines here: export PATH="$$PWD/$(BIN):$$PATH"' >&2

demo-vllm: $(STAMP) ## The incident itself: installs vLLM (CPU) and finds where its drafter kills it
	$(BIN)/python tests/engines/play_v1.py

test: $(STAMP) ## Run all tests but those of engines that take minutes to install
	$(BIN)/python -m pytest -m 'not engine' -n 4 --dist worksteal $(ARGS)

test-engines: $(STAMP) ## Run the contract and every recipe against real engines, installed into .engines/
	$(BIN)/python tests/engines/install.py
	$(BIN)/python -m pytest -m engine $(ARGS)

chaos: $(STAMP) ## Kill hundreds of runs at random moments, and see that nothing is lost
	nice -n 10 $(BIN)/python -m tests.chaos.game 300 --at-once 8

lint: $(STAMP) ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP) ## Check types
	$(BIN)/mypy

arrows: $(STAMP) ## Check which room may import which
	$(BIN)/lint-imports

docs: $(STAMP) ## Write the generated parts of the documentation
	$(BIN)/cog -r $(wildcard README.md docs/*.md)

docs-check: $(STAMP) ## Check that the generated parts are up to date
	$(BIN)/cog --check --diff $(wildcard README.md docs/*.md)

check: lint types arrows docs-check test ## All of it

clean: ## Remove everything that was made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis dist build
