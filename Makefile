# Needs python3 (3.11 or newer, with venv), pip and make. `make` alone lists the targets.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= logical

CONSTRAINTS := constraints/dev.txt
BIN := $(VENV)/bin
SOURCES := src lab tests tools examples docs
MATHJAX := mathjax@3.2.2
# One process per core, each with one thread (conftest.py). A file's tests run in one process and in order, so that
# fixtures of a module are made once and a random generator of a module gives the same numbers in every run.
# Bytecode is kept, because many tests start interpreters, and each would compile the library again.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n $(WORKERS) --maxprocesses 8 --dist loadfile

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-all lint types format check docs bench dist upgrade clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile
	@echo "  PYTHON=$(PYTHON) makes the environment, VENV=$(VENV) holds it; set either to change it."
	@echo "  WORKERS=$(WORKERS): processes that run the tests, one for each core at first; 0 runs them in one process."

demo: $(VENV)/demo.stamp ## Tell the story: a promise broken, and kept (more arguments: ARGS=--open)
	@$(BIN)/python examples/demo.py $(ARGS)

test: $(VENV)/dev.stamp ## Run the tests and doctests, without the slow tests (more arguments: ARGS="-k name")
	@$(PYTEST) -m "not slow" $(ARGS)

test-all: $(VENV)/dev.stamp ## Run the slow tests, which make test leaves out (more arguments: ARGS="-k name")
	@$(PYTEST) -m "slow" $(ARGS)

lint: $(VENV)/dev.stamp ## Check style and formatting
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)

types: $(VENV)/dev.stamp ## Check types
	@$(BIN)/mypy

format: $(VENV)/dev.stamp ## Reformat the code and fix what can be fixed safely
	@$(BIN)/ruff check --fix-only $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

check: lint types test ## All of lint, types and test (continuous integration also runs test-all)

docs: $(VENV)/docs.stamp ## Build the site into build/site; warnings are errors (some pages alone: GALLERY=recall)
	@rm -rf build/site
	@EQUIRATE_SITE_STATIC=$(abspath $(VENV))/site-static EQUIRATE_GALLERY=$(GALLERY) \
	  $(BIN)/python -m sphinx -b html -W -n --keep-going -q -j 2 -d build/doctrees docs build/site
	@echo "The site is in build/site/index.html"

bench: $(VENV)/dev.stamp ## Measure beside other libraries (half an hour; more arguments: ARGS="--quick")
	@$(BIN)/python -m equirate_lab.cli bench all --out lab/benchmarks \
	  --docs lab/results/performance.md --rivals lab/results/rivals.md $(ARGS)

dist: ## Build both distributions into dist, and check them in a clean environment
	@rm -rf dist build/release
	@$(PYTHON) -m venv build/release/tools
	@build/release/tools/bin/python -m pip install -q --disable-pip-version-check -c $(CONSTRAINTS) build hatchling twine
	@for folder in . lab; do build/release/tools/bin/python -m build --no-isolation --outdir dist $$folder || exit 1; done
	@build/release/tools/bin/python -m twine check --strict dist/*
	@$(PYTHON) -m venv build/release/clean
	@build/release/clean/bin/python -m pip install -q --disable-pip-version-check -c $(CONSTRAINTS) dist/*.whl
	@cd build/release && clean/bin/python ../../examples/quickstart.py && clean/bin/equirate-lab --version \
	  && clean/bin/equirate-lab reproduce kld --dataset compas --seeds 1 --quick --rounds 50 --out reproduced
	@ls -l dist

upgrade: ## Show the newest versions, for constraints/dev.txt
	@rm -rf $(VENV)-upgrade
	@$(MAKE) --no-print-directory VENV=$(VENV)-upgrade CONSTRAINTS=/dev/null $(VENV)-upgrade/dev.stamp
	@$(VENV)-upgrade/bin/python -m pip freeze --exclude-editable --disable-pip-version-check
	@rm -rf $(VENV)-upgrade

clean: ## Remove the environment, caches and build products
	@rm -rf $(VENV) build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@cd docs && rm -rf gallery results api/generated api/backreferences
	@find $(SOURCES) -type d -name __pycache__ -prune -exec rm -rf {} +

# New constraints make a new environment; a change of pyproject.toml brings the one there is up to date.
$(VENV)/venv.stamp: $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "error: '$(PYTHON)' is not Python 3.11 or newer; name one with: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "error: '$(PYTHON)' has no venv module (on Debian and Ubuntu: install python3-venv)" >&2; exit 1; }
	@echo "Creating $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# $(call install,GROUP): the package, editable, with a dependency group; pip's output is shown only if it fails.
define install
	@echo "Installing equirate and its $(1) requirements into $(VENV) (a minute or so the first time)"
	@$(BIN)/python tools/dependency_group.py $(1) > $(VENV)/$(1).in
	@$(BIN)/python -m pip install --disable-pip-version-check --no-input \
	  -c $(CONSTRAINTS) -e . -e lab -r $(VENV)/$(1).in > $(VENV)/$(1).log 2>&1 \
	  || { cat $(VENV)/$(1).log >&2; echo "error: the installation failed, see above" >&2; exit 1; }
endef

$(VENV)/demo.stamp: $(VENV)/venv.stamp pyproject.toml lab/pyproject.toml tools/dependency_group.py
	$(call install,demo)
	@touch $@

# The dev group includes the demo group.
$(VENV)/dev.stamp: $(VENV)/venv.stamp pyproject.toml lab/pyproject.toml tools/dependency_group.py
	$(call install,dev)
	@touch $(VENV)/demo.stamp $@

# The docs group includes the dev group. MathJax comes from npm and is part of the site, so that no page asks another host.
$(VENV)/docs.stamp: $(VENV)/venv.stamp pyproject.toml lab/pyproject.toml tools/dependency_group.py
	$(call install,docs)
	@command -v npm >/dev/null || { echo "error: MathJax is installed by npm, which is not there" >&2; exit 1; }
	@rm -rf $(VENV)/site-static && mkdir -p $(VENV)/site-static/mathjax
	@cd $(VENV)/site-static && npm pack --silent $(MATHJAX) >/dev/null \
	  && tar xzf mathjax-*.tgz --strip-components=2 -C mathjax \
	    package/es5/tex-chtml.js package/es5/input/tex/extensions package/es5/output/chtml/fonts \
	  && rm mathjax-*.tgz
	@touch $(VENV)/dev.stamp $(VENV)/demo.stamp $@
