# Every command installs what it needs into .venv and never prompts.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FOLDER ?= keyplan-data
PORT ?= 8000
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN)
# Two more than there are processors: tests of servers, browsers and processes wait about half of their time. Each worker
# collects all tests, which takes 20 s of a processor, and needs up to 1.5 GB.
WORKERS ?= $(shell expr $(PROCESSORS) + 2)
# Of laws: `thorough` tests more examples of each.
PROFILE ?= steady
CHECKED := src systems tests bench docs examples conftest.py
EXTRAS := async,aws,charts,fast,import,s3,verify
# pip shows its progress; bars only in a terminal.
PIP = $(BIN)/python -m pip install --disable-pip-version-check --progress-bar $(shell test -t 2 && echo on || echo off)

.PHONY: run test quick coverage check compiled bench clean

run: $(VENV)/.runtime
	$(BIN)/keyplan up --folder $(FOLDER) --port $(PORT)

# mypy uses one processor, so the rest is prepared at the same time.
test: $(VENV)/.dev
	@$(MAKE) -j2 check compiled
	$(BIN)/python -m pytest -q --hypothesis-profile=$(PROFILE) -n $(WORKERS)

# Lint and quick tests, with fewer examples of each law. Timeouts by a signal save pytest a thread for each test.
QUICK := -q -m "not slow" --hypothesis-profile=quick --timeout-method=signal -n $(PROCESSORS)
quick: $(VENV)/.dev
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/python -m pytest $(QUICK)

# Branch coverage of the toolkit by the quick tests and all tests of the console, most of whose pages need a browser.
coverage: $(VENV)/.dev $(VENV)/.browser
	$(BIN)/python -m pytest $(QUICK) --cov --cov-report= --cov-fail-under=0
	$(BIN)/python -m pytest -q -n $(WORKERS) tests/console --cov --cov-append --cov-report=term

check: $(VENV)/.dev
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy
	$(BIN)/lint-imports

# Bytecode of all modules and tests, which each worker would otherwise compile for itself.
compiled: $(VENV)/.browser
	@$(BIN)/python -m pytest -q --collect-only >/dev/null || true

bench: $(VENV)/.bench
	$(BIN)/python -m bench all $(if $(PEERS),--peers) $(if $(QUICK),--quick) $(if $(KEEP),--keep)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist

$(VENV)/.base:
	@echo "Creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# What `make run` needs: no AWS libraries and no tools of tests. Python compiles modules when they are first imported.
$(VENV)/.runtime: $(VENV)/.base pyproject.toml systems/pyproject.toml
	@echo "Installing keyplan and the five systems into $(VENV): about a minute, 600 MB"
	@$(PIP) --no-compile -e ".[charts,fast,import,verify]" -e "./systems[lake,mcp]"
	@touch $@

# Dependency groups need a newer pip than that of Python 3.11.
$(VENV)/.pip: $(VENV)/.base
	@$(PIP) -q --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.dev: $(VENV)/.pip pyproject.toml systems/pyproject.toml
	@echo "Installing keyplan and the tools of its tests into $(VENV): one to three minutes"
	@$(PIP) -e ".[$(EXTRAS)]" -e "./systems[lake,mcp]" --group dev
	@touch $@

# Chromium for the tests of pages; without it they are skipped, or fail if KEYPLAN_REQUIRE_BROWSER is set. Its headless
# shell needs less than half of the processor time of the whole browser, which is also needed: it shows notifications.
BROWSERS := chromium-headless-shell chromium chromium-browser google-chrome
APT_INSTALL := apt-get install -q -y --no-install-recommends fonts-dejavu-core
$(VENV)/.browser: $(VENV)/.dev
	@if ! command -v chromium-headless-shell >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing Chromium and its headless shell for the tests of pages: about a minute"; \
		{ apt-get update -q; $(APT_INSTALL) chromium chromium-headless-shell || $(APT_INSTALL) chromium; } >/dev/null 2>&1; \
	fi; \
	for browser in $(BROWSERS); do command -v $$browser && break; done \
	|| { echo "Downloading Chromium for the tests of pages"; $(BIN)/python -m playwright install chromium; } \
	&& touch $@ || echo "No Chromium: the tests of pages will be skipped"

$(VENV)/.bench: $(VENV)/.pip pyproject.toml
	@echo "Installing keyplan and its benchmarks into $(VENV): one to three minutes"
	@$(PIP) -e ".[$(EXTRAS)]" --group bench
	@touch $@
