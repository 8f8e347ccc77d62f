# Two commands matter: `make demo` and `make test`. Each does its own set-up.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
OUT    ?= demo
API    := build/api

.PHONY: venv dev demo test check check-slow check-api lint types contract peers lock clean

venv: $(VENV)/.ready
dev: $(VENV)/.ready-dev

# Dependencies come first, pinned and hashed; the project itself is then laid over them without resolving anything.
$(VENV)/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "memassay needs Python 3.11, 3.12 or 3.13; say which one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --require-hashes -r requirements.lock
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.ready-dev: requirements-dev.lock $(VENV)/.ready
	$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@

demo: venv
	$(BIN)/memassay demo --out "$(OUT)"

test: dev
	@$(BIN)/python -m compileall -q src  # hundreds of commands are started; none should compile the house anew
	$(BIN)/python -m pytest -n 2

check-slow: dev check-api
	$(BIN)/python -m pytest -m slow -o timeout=3600

# What the platform serves against its own OpenAPI document. The checker has a venv of its own: nobody else needs its packages.
check-api: dev $(API)/.ready
	$(BIN)/python benchmarks/platform/interface.py --schemathesis $(API)/bin/schemathesis

$(API)/.ready: requirements-api.lock | $(VENV)/.ready
	@test -x $(API)/bin/python || $(BIN)/python -m venv $(API)
	$(API)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements-api.lock
	@touch $@

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: dev
	$(BIN)/mypy

contract: dev
	$(BIN)/lint-imports

check: lint types contract test

# Programs of others that some memories and agents drive, into $MEMASSAY_PEERS (~/.cache/memassay/peers), once.
peers:
	@PYTHONPATH=src $(PYTHON) peers/install.py

# Needs `uv`; run it after a change of dependencies and commit what it writes.
lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet \
	  pyproject.toml requirements-build.in -o requirements.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet \
	  --group pyproject.toml:dev --extra hybrid --extra mcp --extra platform --extra anthropic --extra openai --extra mushroomdb \
	  pyproject.toml requirements-build.in -c requirements.lock -o requirements-dev.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet \
	  requirements-api.in -o requirements-api.lock

clean:
	rm -rf $(VENV) build dist
