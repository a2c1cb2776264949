# `make PYTHON=python3.12 …` makes the environment anew on that Python. `make lab LABARGS="--port 9000"` passes options on.
BIN := .venv/bin
MADE := .venv/made
ifeq ($(origin PYTHON),command line)
.PHONY: $(MADE)
endif

.PHONY: help env lab fresh hand-in lab-sources test test-all matrix fuzz handouts bench format record lock clean distclean
help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' Makefile

env: $(MADE)  ## the environment, in .venv
# PyYAML has no wheel for 3.15 yet. It is built with the setuptools of the lock, so that all that is fetched has a hash.
$(MADE): pyproject.toml requirements.lock
	python=$$(sh find-python.sh $(PYTHON)) && $$python -m venv --clear .venv
	sed -n -e '/^setuptools==/,/[^\\]$$/p' -e '/^uv==/,/[^\\]$$/p' requirements.lock | $(BIN)/pip install -q -r /dev/stdin
	$(BIN)/uv pip sync -q --compile-bytecode --no-build-isolation requirements.lock
	$(BIN)/uv pip install -q --no-deps --no-build-isolation -e .
	@touch $@

NO_DISPLAY := $(if $(DISPLAY)$(WAYLAND_DISPLAY)$(filter Darwin,$(shell uname)),,--no-browser)
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
WORK := $(or $(ZERO_COPY_WORK),my_lessons)
lab: env  ## JupyterLab on your own copies of the lessons, in my_lessons, with what is new in them
	$(BIN)/python -m helpers.teach.work
	$(BIN)/jupyter lab --notebook-dir="$(WORK)" --LabApp.default_url=/lab/tree/00_start_here.ipynb $(NO_DISPLAY) $(AS_ROOT) $(LABARGS)

fresh: env  ## a fresh copy of a lesson, beside yours: make fresh LESSON=02
	$(BIN)/python -m helpers.teach.work --fresh "$(LESSON)"

hand-in: env  ## one file to hand in, of your notebook and predictions: make hand-in LESSON=02
	$(BIN)/python -m helpers.teach.handing_in "$(LESSON)"

lab-sources: env  ## JupyterLab on the lessons themselves, to edit them
	$(BIN)/jupyter lab --notebook-dir=notebooks $(NO_DISPLAY) $(AS_ROOT) $(LABARGS)

test: env  ## the tests, two at a time (TESTARGS="-k tidy" picks some, and runs them one after another)
	$(BIN)/pytest $(or $(TESTARGS),-n 2 --dist loadfile --no-loadscope-reorder)

test-all: export ZERO_COPY_TESTS = all
test-all: test  ## and what takes long: other Pythons, every lesson without /proc, every wrong answer

matrix: env  ## as root: lessons on other file systems and settings (MATRIXARGS="--rows xfs tmpfs": some of them)
	$(BIN)/python -B tests/matrix.py $(MATRIXARGS)

fuzz: env  ## a minute of random files for the safetensors reader and the reference (FUZZARGS="600 7": ten, from seed 7)
	$(BIN)/python tests/fuzz_safetensors.py $(FUZZARGS)

handouts: env  ## the lessons as HTML, in build/handouts
	$(BIN)/python -m helpers.publish

bench: env  ## the benchmarks, one after another
	set -e; for file in benchmarks/*.py; do $(BIN)/python $$file; done

format: env  ## mend the form of code and notebooks
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/python -m helpers.publish.starters
	$(BIN)/python -m helpers.publish.tidy notebooks

record: env  ## keep what the lessons measure here as the recorded runs
	$(BIN)/python -m helpers.publish.record

lock: env  ## requirements.lock, from pyproject.toml
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  --all-extras --python-version 3.11 $(LOCKARGS) pyproject.toml -o requirements.lock

# Not .ipynb_checkpoints: they may hold a student's work. The folder for caches is used where this one lives in memory.
CACHE = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/zero-copy-measured
MADE_HERE = build data/generated .pytest_cache .ruff_cache .hypothesis $(shell find helpers tests benchmarks -name __pycache__)
clean:  ## remove what was built and generated
	@du -sck $(MADE_HERE) "$(CACHE)" 2>/dev/null | awk 'END {printf "freed %.1f MiB\n", $$1 / 1024}'
	@rm -rf $(MADE_HERE) "$(CACHE)"
	@test -z "$$ZERO_COPY_DATA" || echo "left alone: $$ZERO_COPY_DATA, where ZERO_COPY_DATA puts generated data"

distclean: clean  ## and the environment
	rm -rf .venv
