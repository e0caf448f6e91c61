# Every target creates .venv if it is missing; nothing has to be installed first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COMPLETE := $(VENV)/.complete
SITE_READY := $(VENV)/.site-ready
# --no-compile: a module is compiled when it is first imported, and most installed modules never are.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e

.PHONY: try test check suite slow long gpu attack docs clean

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

# Long trainings and repetitions of slow tests, which continuous integration has no time for.
long: $(COMPLETE)
	$(BIN)/python -m pytest -m long

# On a machine with a GPU, with its installed Python instead of .venv. RECORD=benchmarks/results/gpu-tests.json saves the
# counts, the time and the versions.
gpu:
	$(PYTHON) benchmarks/gpu_tests.py $(if $(RECORD),--out $(RECORD))

# Damaged inputs, kills and concurrent writers, at most 30 minutes on 2 cores: make attack SEED=7 RECORD=attack.json
SEED ?= 1
attack: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.attack --seed $(SEED) $(if $(RECORD),--record $(RECORD))

# The documentation as a site, which can be read without a network: open site/index.html.
docs: $(SITE_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[dev]'
	touch $(READY)

# The slow tests also need the large optional dependencies, and other programs to compare with.
$(COMPLETE): $(READY)
	$(INSTALL) '.[dev,all,docs,peers]'
	touch $(COMPLETE) $(SITE_READY)

$(SITE_READY): $(READY)
	$(INSTALL) '.[dev,docs]'
	touch $(SITE_READY)

clean:
	rm -rf $(VENV) site build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
