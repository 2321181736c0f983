# make serve   set up, build both languages, serve them at http://127.0.0.1:8000
# make test    set up, then every check: style, types, parity of the languages, tests
# make clean   remove what was built, and the environment

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: serve build test lint check pyodide clean

serve: $(READY)
	$(BIN)/sistolica serve

build: $(READY)
	$(BIN)/sistolica build

test: lint check
	$(BIN)/pytest $(PYTEST_ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: $(READY)
	$(BIN)/sistolica check

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed, $(PYTHON) is $$($(PYTHON) --version 2>&1). Name one: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --disable-pip-version-check --progress-bar on -q -e '.[lab,kernels,train,book,grade,dev]'
	@touch $(READY)

# The browser's Python, for the tests that compare it with ours. Needs Node 18 or newer.
pyodide:
	npm ci --prefix tests/pyodide --no-audit --no-fund

clean:
	rm -rf $(VENV) tests/pyodide/node_modules _build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
