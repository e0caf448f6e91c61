# `make try` and `make test` need nothing done before them: each makes .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COMPLETE := $(VENV)/.complete
# Modules are compiled when they are first imported: most of what is installed never is.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e

.PHONY: try test check suite slow long gpu attack clean

try: $(READY)
	$(BIN)/saccade try

test: $(READY)
	$(MAKE) --no-print-directory --jobs 2 check suite

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

suite: $(READY)
	$(BIN)/python -m pytest

slow: $(COMPLETE)
	$(BIN)/python -m pytest -m 'slow and not long'

# A test of many minutes, which would keep continuous integration over its time.
long: $(COMPLETE)
	$(BIN)/python -m pytest -m long

# On a machine with a GPU, with the Python that is there: no .venv is made. RECORD=benchmarks/results/gpu-tests.json
# keeps the counts, the time and the versions.
gpu:
	$(PYTHON) benchmarks/gpu_tests.py $(if $(RECORD),--out $(RECORD))

# Mutated inputs, kills and two writers, at most half an hour on 2 cores: make attack SEED=7 RECORD=attack.json
SEED ?= 1
attack: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.attack --seed $(SEED) $(if $(RECORD),--record $(RECORD))

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[dev]'
	touch $(READY)

# The slow tests also need the extras that are large.
$(COMPLETE): $(READY)
	$(INSTALL) '.[dev,all]'
	touch $(COMPLETE)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
