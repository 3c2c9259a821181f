# Everything a new machine needs beyond Python, pip, make and (for the compiled path) a C++ compiler is set up here.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
NATIVE := $(wildcard src/kcrc/native/*/*.cpp src/kcrc/native/*/*.hpp)
SOURCES := pyproject.toml setup.py constraints.txt $(NATIVE)
WORKERS ?= auto
DATA ?= $(wildcard ../shared/data)

# Containers often set it; each process that tests start would then compile all of kcrc, and pytest every test, again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo page docs test test-slow test-odd test-kernels test-web fuzz sanitize wheel lowest pythons examples lint format bench reproduce reproduce-full reproduce-quick clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Compiled for this CPU alone: somebody is waiting for the first picture.
$(VENV)/.user: $(VENV)/bin/python $(SOURCES)
	KCRC_LEVELS=own $(PIP) install -c constraints.txt -e ".[plots,web]"
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python $(SOURCES)
	$(PIP) install -c constraints.txt -e ".[dev]"
	@touch $@ $(VENV)/.user

demo: $(VENV)/.user  ## the main job on handwritten digits: accuracy, speed, and a picture of why
	$(BIN)/kcrc demo demo-out

SAMPLE = fruit
page: $(VENV)/.user  ## the page of kcrc serve over drawn fruit (SAMPLE=digits: handwritten digits); Ctrl-C ends it
	PYTHONPATH=tests $(BIN)/python -m browser.sample page-out/$(SAMPLE) $(if $(filter digits,$(SAMPLE)),--digits)
	$(BIN)/kcrc serve page-out/$(SAMPLE)/$(SAMPLE).kcrc page-out/$(SAMPLE)/unlabelled --open

docs: $(VENV)/.dev  ## the documentation as a site that needs no network: open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

test: $(VENV)/.dev  ## all tests but the slow measurements
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "not slow and not browser"

test-slow: $(VENV)/.dev  ## the slow measurements too
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "not browser"

test-odd: $(VENV)/.dev  ## the tests that depend on the machine, with odd homes, users, locales, paths, fonts, under load
	PYTHON=$(BIN)/python WORKERS=$(WORKERS) .ci/odd

test-kernels: $(VENV)/.dev  ## the same answers with other kernels of OpenBLAS and other builds of the compiled module
	PYTHON=$(BIN)/python WORKERS=$(WORKERS) .ci/kernels

test-web: $(VENV)/.dev  ## the pages in headless Chromium; KCRC_SCREENSHOTS=FOLDER keeps what it shows
	.ci/chromium
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "browser and not slow" tests/browser

fuzz: $(VENV)/.dev  ## attacks on every door, 20,000 and 500 kills, in about ten minutes (see docs/security.md)
	$(BIN)/python -m fuzz --cases 20000 --kills 500 --jobs 2 --out fuzz-out.json

sanitize: $(VENV)/.dev  ## the native tests with memory and arithmetic watched (needs g++), in about six minutes
	PYTHON=$(BIN)/python .ci/sanitize

wheel: $(VENV)/.dev  ## sdist and wheel in dist/ with what they are made of: built twice alike, audited, tried
	PYTHON=$(BIN)/python .ci/wheel

lowest:  ## the lowest versions we promise, of extras too, with the wheel of `make wheel`
	PYTHON=$(PYTHON) WORKERS=$(WORKERS) .ci/lowest

pythons:  ## newer Pythons on this machine, with the sdist of `make wheel`: built for each, smoke-tested, tested
	PYTHON=$(PYTHON) WORKERS=$(WORKERS) .ci/pythons

examples: $(VENV)/.user  ## run the examples, draw their pictures and the page docs/examples.md
	$(BIN)/python examples/show.py

bench: $(VENV)/.user  ## speed beside scikit-learn, faiss (if installed) and the machine's limits; writes bench-out/
	$(BIN)/python -m lab bench $(if $(DATA),--data $(DATA),--quick) --out bench-out

reproduce-quick: $(VENV)/.user  ## the paper's experiments in ten minutes or less, with the data at hand
	$(BIN)/python -m lab reproduce all --quick $(if $(DATA),--data $(DATA)) --out reproduce-out

reproduce: $(VENV)/.user  ## the paper's experiments in about an hour; writes reproduce-out/
	$(BIN)/python -m lab reproduce all $(if $(DATA),--data $(DATA)) --out reproduce-out

reproduce-full: $(VENV)/.user  ## the same with the paper's repeats, in many hours: what is left of it, into docs/reproduction
	$(BIN)/python -m lab reproduce all --full --resume $(if $(DATA),--data $(DATA)) --out docs/reproduction --page docs/reproduction.md

lint: $(VENV)/.dev  ## ruff, the words, clang-format, the type checker and the layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python .ci/words.py
	$(BIN)/clang-format --dry-run --Werror $(NATIVE)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev  ## put the sources into shape
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(NATIVE)

clean:  ## remove the virtual environment and everything made
	rm -rf $(VENV) .venv-lowest .venv-lowest-extras build dist demo-out page-out bench-out reproduce-out site fuzz-out.json .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f src/kcrc/native/*.so src/kcrc/native/not_built.txt
