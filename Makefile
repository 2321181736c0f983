# make serve        set up, build both languages, serve them at http://127.0.0.1:8000
# make test         set up, then every check: style, types, parity of the languages, tests
# make test-oldest  the kernels and training again, on the oldest jax that they support
# make test-torch   training in PyTorch, and the benchmark's peers, in an environment of its own
# make clean        remove what was built, and the environments

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
LIBTPU := $(VENV)/libtpu
OLDEST := .venv-oldest
OLDEST_JAX := 0.8.0
TORCH := .venv-torch
INSTALL := -m pip install --disable-pip-version-check --progress-bar on -q

.PHONY: serve build test test-oldest test-torch lint check pyodide clean

serve: $(READY)
	$(BIN)/sistolica serve

build: $(READY)
	$(BIN)/sistolica build

test: lint check $(LIBTPU)/ready
	$(BIN)/pytest $(PYTEST_ARGS)

# Left out: what runs the GPU kernel's values (that jax has no interpreter for it), the TPU's compiler (of another jax),
# and what only the newest jax does in collectives (batches, and the interpreter's search for races in planted faults).
test-oldest: $(OLDEST)/ready
	$(OLDEST)/bin/pytest tests/tpu_kernels/kernels tests/tpu_kernels/training --ignore-glob='*/test_pallas_gpu_values.py' \
	  --ignore-glob='*/test_compiles_for_tpu.py' --ignore-glob='*/collectives/test_faults.py' \
	  --ignore-glob='*/collectives/test_batches.py' $(PYTEST_ARGS)

test-torch: $(TORCH)/ready
	$(TORCH)/bin/pytest tests/tpu_kernels/training/pytorch tests/tpu_kernels/bench/peers $(PYTEST_ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: $(READY)
	$(BIN)/sistolica check

# Every environment starts with a Python that is new enough.
$(VENV)/made $(OLDEST)/made $(TORCH)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed, $(PYTHON) is $$($(PYTHON) --version 2>&1). Name one: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(@D)
	@touch $@

$(READY): pyproject.toml constraints.txt | $(VENV)/made
	PIP_CONSTRAINT=constraints.txt $(BIN)/python $(INSTALL) -e '.[lab,kernels,train,book,grade,dev]'
	@touch $(READY)

# The TPU compiler, out of sight of ordinary programs: beside it, jax looks for a TPU at every start and complains.
$(LIBTPU)/ready: constraints.txt | $(READY)
	rm -rf $(LIBTPU)
	PIP_CONSTRAINT=constraints.txt $(BIN)/python $(INSTALL) --no-deps --target $(LIBTPU) libtpu
	@touch $@

$(OLDEST)/ready: pyproject.toml constraints.txt | $(OLDEST)/made
	grep -vE '^(jax|jaxlib)==' constraints.txt > $(OLDEST)/constraints.txt
	PIP_CONSTRAINT=$(OLDEST)/constraints.txt $(OLDEST)/bin/python $(INSTALL) jax==$(OLDEST_JAX) -e '.[kernels,train]' hypothesis pytest
	@touch $@

# torch_xla wants the torch it was built for, and brings CUDA's libraries: some 7.7 GB in all.
$(TORCH)/ready: pyproject.toml constraints.txt | $(TORCH)/made
	PIP_CONSTRAINT=constraints.txt $(TORCH)/bin/python $(INSTALL) -e '.[torch,train]' hypothesis pytest
	@touch $@

# The browser's Python, for the tests that compare it with ours. Needs Node 18 or newer.
pyodide:
	npm ci --prefix tests/pyodide --no-audit --no-fund

clean:
	rm -rf $(VENV) $(OLDEST) $(TORCH) tests/pyodide/node_modules _build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
