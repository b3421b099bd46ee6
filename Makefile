# Needs python3 (3.11 to 3.13) and make. Everything is installed into .venv by the targets below.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TORCH := torch==2.13.0
BFCL := bfcl-eval==2026.3.23

.PHONY: demo test test-minihack test-all lint format docs bench bench-peers clean

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "MetaGym needs Python 3.11 to 3.13, and $(PYTHON) is $$($(PYTHON) -V 2>&1): use make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# The package with its core dependencies; all of them are wheels.
$(VENV)/core: $(VENV)/made setup.cfg setup.py pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --only-binary :all: -e .
	@touch $@

# The same environment with the dev extra, the real ALFWorld engine included, and with the trainers.
# torch comes first and by its exact version: where pip knows the CPU build of it (an extra index, a folder of wheels), it
# takes that one, and the trainers' other dependencies leave it alone. From PyPI by itself it is the build with CUDA.
# bfcl-eval comes last and alone: its own pins (NumPy 1, clients of a dozen services) are not needed and would not fit.
$(VENV)/dev: $(VENV)/made setup.cfg setup.py pyproject.toml
	@echo "Installing the dev extra: two dependencies of the real ALFWorld engine compile (about 3 minutes the first time)."
	@for tool in cc c++ cmake make; do command -v $$tool >/dev/null || \
	  { echo "$$tool is missing: the real engine needs a C++ toolchain (Debian: apt-get install build-essential cmake)"; exit 1; }; done
	$(BIN)/pip install --quiet --disable-pip-version-check '$(TORCH)'
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev,trl]'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps '$(BFCL)'
	@touch $@ $(VENV)/core

# One command that shows a prompt learning: scripted stand-ins, generated household games, no key, no GPU.
demo: $(VENV)/core
	$(BIN)/metagym ict run --out runs/demo --overwrite

# The fast lane.
test: $(VENV)/dev
	$(BIN)/python -m pytest -n 2 --dist loadfile

# MiniHack's engine wants Gymnasium 1.2 and an old setuptools, so it is tested in an environment of its own.
MINIHACK := $(VENV)-minihack
$(MINIHACK)/made: setup.cfg setup.py pyproject.toml
	$(PYTHON) -m venv $(MINIHACK)
	$(MINIHACK)/bin/pip install --quiet --disable-pip-version-check -e '.[minihack]' 'pytest>=8' 'hypothesis>=6.100'
	@touch $@

test-minihack: $(MINIHACK)/made
	$(MINIHACK)/bin/python -m pytest tests/envs/minihack tests/unit/test_registration.py -k "minihack or MiniHack"

# The slow lane as well: every real game, kill tests at many points, real model weights, a real browser.
test-all: $(VENV)/dev
	$(BIN)/python -m pytest -m "slow or not slow"

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation site, into site/, with warnings as errors.
docs: $(VENV)/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/dev
	$(BIN)/python -m benchmarks

# Other projects on the same work. Those that cannot be installed beside us get environments of their own.
PEERS := $(VENV)-peers
$(PEERS)/%/made: benchmarks/peers/requirements-%.txt setup.cfg setup.py pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check -e '.[openai]' -r $<
	@touch $@

bench-peers: $(VENV)/dev $(PEERS)/gem/made $(PEERS)/verifiers/made $(PEERS)/verifiers-classic/made
	$(BIN)/python -m benchmarks.peers

clean:
	rm -rf $(VENV) $(MINIHACK) $(PEERS) build dist site *.egg-info
