# Every command sets up what it needs in .venv; nothing is asked for.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FOLDER ?= keyplan-data
PORT ?= 8000
# One more than there are processors: tests of servers also wait.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
EXTRAS := async,aws,charts,fast,lake,systems,verify

.PHONY: run test check bench clean

run: $(VENV)/.runtime
	$(BIN)/keyplan up --folder $(FOLDER) --port $(PORT)

test: $(VENV)/.dev check
	$(BIN)/python -m pytest -q -n $(WORKERS)

check: $(VENV)/.dev
	$(BIN)/ruff check src tests bench docs examples conftest.py
	$(BIN)/ruff format --check src tests bench docs examples conftest.py
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench
	$(BIN)/python -m bench all $(if $(PEERS),--peers) $(if $(QUICK),--quick) $(if $(KEEP),--keep)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist

$(VENV)/.base:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --upgrade "pip>=25.1"
	touch $@

$(VENV)/.runtime: $(VENV)/.base pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[aws,charts,fast,lake,systems]"
	touch $@

$(VENV)/.dev: $(VENV)/.base pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[$(EXTRAS)]" --group dev
	touch $@

$(VENV)/.bench: $(VENV)/.base pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[$(EXTRAS)]" --group bench
	touch $@
