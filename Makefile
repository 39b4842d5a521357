# Every target sets up what it needs in .venv and does nothing twice.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALL := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
ENGLISH := -m pip install --quiet --disable-pip-version-check --no-deps --requirement english-pipeline.txt
PIP := $(BIN)/python $(INSTALL)
CORE := .venv/.core
ALL := .venv/.all
FUZZ := .venv/.fuzz
RECIPES := .venv/.recipes
MINUTES ?= 1
SITE := .venv/.site
CORES := $(shell getconf _NPROCESSORS_ONLN)
# Peers to compare with have an environment of their own, so that nothing here can come to need them.
BENCH := .venv-bench/bin
PEERS := .venv-bench/.peers
METADRIVE := .venv-metadrive/bin
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Tests run beside each other, one for each core: more threads only wait for each other.
TESTED := $(ONE_THREAD) OPENCV_FOR_THREADS_NUM=1 ROADWORTHY_THREADS=1
# Tests start hundreds of processes, and without its bytecode each of them compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-slow fuzz metadrive lint bench bench-gate bench-record docs pictures site dist gallery clean

help:  ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 20

demo: $(CORE)  ## Set up the core and run the main job on the built-in world
	$(BIN)/roadworthy demo

test: $(ALL)  ## Set up everything and run the tests
	$(TESTED) $(BIN)/python -m pytest -n auto -m "not slow"

test-slow: $(ALL) $(RECIPES)  ## Run the whole checks that take too long for every change
	$(TESTED) $(BIN)/python -m pytest -n auto

fuzz: $(FUZZ)  ## Fuzz every reader and language, MINUTES=1 for each
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

metadrive: .venv-metadrive/.done  ## Set up the simulator MetaDrive in an environment of its own

lint: $(ALL)  ## Check style, types, Dockerfile and action
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/hadolint Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml

bench: $(PEERS)  ## Measure speed beside naive or peer versions and write docs/benchmarks.md
	$(ONE_THREAD) $(BENCH)/python -m benchmarks --page

bench-gate: $(ALL)  ## Tell in two minutes whether something has become slower
	$(ONE_THREAD) $(BIN)/python -m benchmarks --gate

bench-record: $(ALL)  ## Record the ratios that the gate compares with
	$(ONE_THREAD) $(BIN)/python -m benchmarks --gate --record

docs: pictures site  ## Draw the pictures, write the references, build the site into site/

pictures: $(CORE)  ## Draw the pictures of README and docs, write what docs have from the code
	@# Backwards, because that starts the longest early.
	@ls -r docs/make_*.py | OMP_NUM_THREADS=1 xargs -P $(CORES) -n 1 sh -c 'echo $$0; exec $(BIN)/python $$0'

site: $(SITE)  ## Build the documentation site into site/; a warning is an error
	@# The silenced notice tells how long the theme is maintained; CONTRIBUTING.md says it, too.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open site/index.html"

dist:  ## Build wheel, sdist and bill of materials, and try the wheel in a clean environment
	scripts/build_dist.sh $(PYTHON)

gallery: $(CORE)  ## Make the galleries of objects that ship again
	$(BIN)/python -m scripts.make_gallery

clean:  ## Remove the environment and everything built
	rm -rf .venv .venv-bench .venv-metadrive build dist demo-out site

$(CORE): pyproject.toml constraints.txt english-pipeline.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Roadworthy needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 2; }
	@echo "Setting up .venv (first time only)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python $(ENGLISH)
	@$(PIP) hatchling editables
	@$(PIP) --no-build-isolation --editable '.[web]'
	@touch $@

$(ALL): $(CORE) tests/real/third-party.txt
	@echo "Adding the extras for development (first time only)"
	@$(PIP) --no-build-isolation --editable '.[torch,ray,web,sim,gymnasium,logs,tflite,remote,sign,mlflow,maite,docs,dev]'
	@$(PIP) --no-deps --requirement tests/real/third-party.txt
	@touch $@

$(SITE): $(CORE)
	@echo "Adding the tools of the documentation site (first time only)"
	@$(PIP) --no-build-isolation --editable '.[docs]'
	@touch $@

$(FUZZ): $(ALL) tests/fuzz/tools.txt
	@$(PIP) --requirement tests/fuzz/tools.txt || echo "Without atheris, mutants are tried unguided"
	@touch $@

# In a folder that only the recipes of docs/bring/networks.md see, so that nothing here can come to need them.
$(RECIPES): $(ALL) tests/real/recipes.txt
	@echo "Adding the libraries of the recipes (first time only)"
	@rm -rf .venv/recipes
	@$(PIP) --no-deps --target .venv/recipes --requirement tests/real/recipes.txt || \
		echo "Without these libraries their recipes are skipped"
	@touch $@

# Python below 3.12, old numpy and old gym. Drawing needs the system's libEGL and libGL (Debian: libegl1, libgl1-mesa-dri).
.venv-metadrive/.done: scripts/metadrive.txt
	@echo "Setting up .venv-metadrive (first time only)"
	@test -x $(METADRIVE)/python || $(PYTHON) -m venv .venv-metadrive
	@$(METADRIVE)/python -m pip install --quiet --disable-pip-version-check 'setuptools<66' wheel
	@$(METADRIVE)/python -m pip install --quiet --disable-pip-version-check --requirement scripts/metadrive.txt
	@$(METADRIVE)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation gym==0.25.2
	@$(METADRIVE)/python -m pip install --quiet --disable-pip-version-check --no-deps metadrive-simulator==0.3.0.1
	@touch $@
	@echo "roadworthy driving drive --model dave2 -s metadrive:SCS --seconds 10"

$(PEERS): pyproject.toml constraints.txt english-pipeline.txt benchmarks/peers.txt
	@echo "Setting up .venv-bench (first time only)"
	@test -x $(BENCH)/python || $(PYTHON) -m venv .venv-bench
	@$(BENCH)/python $(ENGLISH)
	@$(BENCH)/python $(INSTALL) hatchling editables
	@$(BENCH)/python $(INSTALL) --no-build-isolation --editable '.[torch,ray,web]' playwright pytest
	@$(BENCH)/python $(INSTALL) --no-deps --requirement benchmarks/peers.txt
	@touch $@
