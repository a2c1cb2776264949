# `make PYTHON=python3.12 …` makes the environment anew on that Python. `make lab LABARGS="--port 9000"` passes options on.
# A student may have chosen these names: neither make nor the shell runs what is in them. First, because the first shell
# that make starts is given all variables.
override STUDENT := $(value STUDENT)
override FROM := $(value FROM)
override OUT := $(value OUT)
export STUDENT FROM OUT
BIN := .venv/bin
# It is named after what it is made of: the files of an unzipped edition are older than the environment of the last one.
MADE := .venv/made-$(firstword $(shell cat pyproject.toml environment/requirements.lock | cksum))
ifeq ($(origin PYTHON),command line)
.PHONY: $(MADE)
endif

.PHONY: help env lab fresh hand-in wheel clean distclean
help:  ## this list
	@awk '/^# --- / {print "\nTo edit, test, publish and teach the lessons:"} \
	  /^[a-z-]+:.*## / {name = $$1; sub(":.*", "", name); sub(".*## ", ""); printf "make %-15s %s\n", name, $$0}' Makefile

env: $(MADE)  ## the environment, in .venv
# PyYAML has no wheel for 3.15 yet. It is built with the setuptools of the lock, so that all that is fetched has a hash.
$(MADE):
	python=$$(sh environment/find-python.sh $(PYTHON)) && $$python -m venv --clear .venv
	sed -n -e '/^setuptools==/,/[^\\]$$/p' -e '/^uv==/,/[^\\]$$/p' environment/requirements.lock | $(BIN)/pip install -q -r /dev/stdin
	$(BIN)/uv pip sync -q --compile-bytecode --no-build-isolation environment/requirements.lock
	$(BIN)/uv pip install -q --no-deps --no-build-isolation -e .
	@touch $@

NO_DISPLAY := $(if $(DISPLAY)$(WAYLAND_DISPLAY)$(filter Darwin,$(shell uname)),,--no-browser)
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
WORK := $(or $(ZERO_COPY_WORK),$(if $(shell test -w . && echo 1),,$(HOME)/)my_lessons)
# JupyterLab's terminals inherit what Jupyter has: with the PYTHON=… of this `make`, each `make` typed there would start
# by removing the environment.
lab: env  ## JupyterLab on your own copies of the lessons, in my_lessons, with what is new in them (LABARGS="--port 9000": its options)
	@$(BIN)/python -m helpers.teach.work --once
	unset MAKEFLAGS MAKELEVEL; $(BIN)/jupyter lab --notebook-dir="$(WORK)" --LabApp.default_url=/lab/tree/00_start_here.ipynb --KernelManager.transport_encryption=auto $(NO_DISPLAY) $(AS_ROOT) $(LABARGS)

fresh: env  ## a fresh copy of a lesson, beside yours: make fresh LESSON=02
	@$(BIN)/python -m helpers.teach.work --fresh "$(LESSON)"

hand-in: env  ## one file to hand in, of your notebook and predictions: make hand-in LESSON=02
	@$(BIN)/python -m helpers.teach.handing_in "$(LESSON)" --file "$(FILE)"

wheel: env  ## %measure for a project of your own: a wheel in build/wheel, to install there with pip
	cd wheel && ../$(BIN)/python -m hatchling build -t wheel -d ../build/wheel

# Not .ipynb_checkpoints: they may hold a student's work. The folder for caches is used where this one lives in memory.
CACHE = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/zero-copy-measured
MADE_HERE = build data/generated .pytest_cache .ruff_cache .hypothesis $(shell find helpers $(wildcard tests benchmarks) -name __pycache__)
clean:  ## remove what was built and generated
	@du -sck $(MADE_HERE) "$(CACHE)" 2>/dev/null | awk 'END {printf "freed %.1f MiB\n", $$1 / 1024}'
	@rm -rf $(MADE_HERE) "$(CACHE)"
	@test -z "$$ZERO_COPY_DATA" || echo "left alone: $$ZERO_COPY_DATA, where ZERO_COPY_DATA puts generated data"

distclean: clean  ## clean, and remove the environment too
	rm -rf .venv

# --- the workshop: from here on, nothing is in the students' edition.
.PHONY: lab-sources test test-room test-slow test-all test-class cases test-libraries matrix machine fuzz handouts class site book grade wall image rehearse forget release bench format record lock
lab-sources: env  ## JupyterLab on the lessons themselves, to edit them
	$(BIN)/jupyter lab --notebook-dir=notebooks $(NO_DISPLAY) $(AS_ROOT) $(LABARGS)

# What may run beside other tests runs two at a time, or three, as the slow ones often wait; what is measured runs alone.
# Both run, whatever comes of the first.
BESIDE = $(BIN)/pytest -n $(or $(2),2) --dist loadfile --no-loadscope-reorder -m "$(1) and not measured"
ALONE = $(BIN)/pytest -m "$(1) and measured" $$(grep -l mark.measured tests/test_*.py)
both = status=0; $(1) || status=$$?; $(2) || status=$$?; exit $$status

# Each lock is on top of environment/requirements.lock. It goes with the environment, and comes back where a target asks for it.
$(MADE)-%: $(MADE) environment/%.lock
	$(BIN)/uv pip install -q --compile-bytecode --require-hashes --no-deps -r environment/$*.lock
	@touch $@

test: $(MADE)-dev  ## all tests that are fast, and two lessons, in about three minutes (TESTARGS="-k tidy" picks some, slow ones too)
	$(if $(TESTARGS),$(BIN)/pytest $(TESTARGS),$(call both,$(call BESIDE,not slow),$(call ALONE,not slow)))

test-room: $(MADE)-dev  ## the fast tests that import from a room of helpers/: make test-room ROOM=show
	$(BIN)/pytest -n 2 --dist loadfile -m "not slow" $$(grep -lE "helpers(\.| import .*\b)$(ROOM)\b" tests/test_*.py)

# The other way round, because the handouts' tests need the lessons as they ran.
test-slow: export ZERO_COPY_STAMPS = heed
test-slow: $(MADE)-dev  ## the other tests: all lessons, right and wrong answers, other Pythons; not what hasn't changed (tests/stamps.py)
	$(call both,$(call ALONE,slow),$(call BESIDE,slow,3))

test-all: test  ## all tests, in a quarter of an hour, those too whose inputs haven't changed
	tested=$$($(BIN)/python tests/stamps.py) && $(MAKE) test-slow ZERO_COPY_STAMPS= PYTEST_ADDOPTS= && echo "$$tested" >tests/stamps.json

test-class: $(MADE)-dev $(MADE)-class  ## the tests that need nbgrader; installs it into the environment
	$(BIN)/pytest tests/test_nbgrader.py

cases: $(MADE)-cases  ## the libraries that a few cases need; without them a case shows its recorded run

test-libraries: $(MADE)-dev  ## tests with the newest libraries, the lowest, and those that only readers have (ROWS=lowest: these)
	$(BIN)/python tests/libraries.py $(ROWS)

matrix: env  ## as root: lessons on other file systems and settings (MATRIXARGS="--rows xfs tmpfs": some of them)
	$(BIN)/python -B tests/matrix.py $(MATRIXARGS)

machine: class  ## as root: the class's hub with systemd, on an emulated machine, in hours (MACHINEARGS="--rows trixie --steps install")
	$(BIN)/python -B tests/machine.py $(MACHINEARGS)

fuzz: $(MADE)-dev  ## damaged files for our safetensors reader and the library's, for a minute (FUZZARGS="600 7": for ten, from seed 7)
	$(BIN)/python tests/fuzz_safetensors.py $(FUZZARGS)

handouts: env  ## the lessons as HTML, in build/handouts: for students, worksheets for paper, for instructors
	$(BIN)/python -m helpers.publish

book: $(MADE)-dev  ## all that students read as one PDF, in build/book; needs Chromium
	@$(BIN)/python -m helpers.publish.book

CLASS = $(if $(NBGRADER),$(MADE)-class,env)
COURSE = $(if $(NBGRADER),--nbgrader "$(NBGRADER)")
class: $(CLASS)  ## the students' edition, in build/class (LESSONS="02 03": these and 00; NBGRADER=course/: its source, too)
	@$(BIN)/python -m helpers.classroom.hand_out $(LESSONS) $(COURSE)

grade: $(CLASS)  ## judge what students handed in: FROM=submissions.zip or NBGRADER=course/ (OUT=…: into that folder; TRUST=yes: without sandboxes)
	@$(BIN)/python -m helpers.classroom.grade $(if $(FROM),"$$FROM") $(if $(OUT),--out "$$OUT") $(COURSE) \
	  $(if $(filter yes,$(TRUST)),--trust)

wall: env  ## a class's predictions on one page, and its votes (OUT=… as for grade; WALLARGS="--port 9000": other options)
	@$(BIN)/python -m helpers.wall.server $(if $(OUT),--out "$$OUT") $(WALLARGS)

BOOK = book
site: handouts class $(BOOK)  ## what students read, for any web server, in build/site (URL=https://…: its address; BOOK=: no PDF)
	@$(BIN)/python -m helpers.publish.site "$(URL)"

forget: env  ## delete a student's data: STUDENT=1234567, the key in gradebook.csv (OUT=… where you have graded into)
	@$(BIN)/python -m helpers.classroom.forget $(if $(OUT),--out "$$OUT") -- "$$STUDENT"

ENGINE = podman
image: class  ## the course as an image for containers, zero-copy-measured (ENGINE=docker; IMAGEARGS="--build-arg BASE=…")
	rm -rf build/image && mkdir build/image
	cp -r build/class/zero-copy-measured classroom/image/requirements.lock classroom/hub/start-student build/image
	$(ENGINE) build $(IMAGEARGS) -t zero-copy-measured -f classroom/image/Containerfile build/image

rehearse: env  ## as root: a class of STUDENTS=20 on a real hub on this machine, and a report
	@$(BIN)/python -B classroom/hub/rehearse.py $(STUDENTS)

release: env  ## source, students' edition and wheel of this commit, in build/release (TAG=v0.1.0: only if it's that version)
	@$(BIN)/python -m helpers.classroom.release "$(TAG)"

bench: env  ## the benchmarks, one after another
	set -e; for file in benchmarks/*.py; do $(BIN)/python $$file; done

format: $(MADE)-dev  ## fix the form of code and notebooks
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/python -m helpers.publish.tidy notebooks

record: env  ## keep what the lessons measure here as the recorded runs, and their questions
	$(BIN)/python -m helpers.publish.record
	$(BIN)/python -m helpers.wall.questions

COMPILE = $(BIN)/uv pip compile -q --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
  --python-version 3.11 $(LOCKARGS) pyproject.toml
IN_LOCK = $$(sed -n 's/^\([^ =]*\)==.*/--no-emit-package \1/p' environment/requirements.lock)
ON_TOP = $(COMPILE) -c environment/requirements.lock $(IN_LOCK)
lock: env  ## environment/requirements.lock, and what developers, a class, some cases, a hub and an image need on top of it
	$(COMPILE) --extra libraries --extra install -o environment/requirements.lock
	$(ON_TOP) --extra dev -o environment/dev.lock
	$(ON_TOP) -c environment/dev.lock --extra classroom -o environment/class.lock
	$(ON_TOP) -c environment/dev.lock --extra cases -o environment/cases.lock
	$(ON_TOP) --extra hub -o classroom/hub/requirements.lock
	$(ON_TOP) --extra image -o classroom/image/requirements.lock
