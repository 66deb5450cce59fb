# make help says what there is

PYTHON ?= python3
UV     := $(or $(shell command -v uv 2>/dev/null),.uv/bin/uv)
BIN    := .venv/bin
MANIFESTS := pyproject.toml $(wildcard pubench_*/pyproject.toml plugins/*/*/pyproject.toml)
SOURCES   := $(wildcard pubench_*/src plugins/*/*/src) $(wildcard .ci/*.py)
# on a terminal uv shows its progress; elsewhere it says nothing
QUIET     := $(if $(MAKE_TERMERR),,--quiet)
# --inexact: plugins that you installed next to ours stay
SYNC      := sync $(QUIET) --inexact --all-groups
# a file's tests share what they set up; files are begun in the order that conftest.py gives them
PYTEST    := python -m pytest -n $(or $(WORKERS),auto) --dist loadfile --no-loadscope-reorder
# what `make oldest` runs: the tests of every package, and those across packages that start the command
OLDEST    := pubench_core/tests pubench_cli/tests plugins $(wildcard tests/test_cli_*.py) tests/test_user_tables.py \
             tests/test_plugins_broken.py
# but those that begin with a run in which certain epochs are chosen: the last digits of older versions choose others
OLDEST    += --deselect tests/test_cli_run.py::TestAnotherRequestForTheSameRun
# percent of the lines of all packages that the tests run; `make coverage` fails below it
COVERED   := 85
# Python 3.12 and newer can measure at almost no cost
CORE       = $(shell $(BIN)/python -c "import sys; print('sysmon' if sys.version_info >= (3, 12) else 'ctrace')" 2>/dev/null)

# a worker more than cores (conftest.py), each with small tensors: a second thread would wait for another worker's first
tests coverage oldest: export OMP_NUM_THREADS ?= 1

# where byte code is not kept, every command compiles its imports again, for longer than it works
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test tests style types lint docs pages metadata generated coverage fuzz oldest wheels gpu clean

help: ## this list
	@echo "usage: make TARGET"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

setup: .venv/ready ## everything into .venv/, with the versions that pyproject.toml pins

demo: .venv/ready ## run nnPU on an embedded real data set, print the result table
	@echo "running nnPU on digits; the first import of PyTorch takes up to a minute"
	$(BIN)/pubench run --method nnpu --data digits --mech scar --c 0.1

test: .venv/ready style ## lint and all tests; mypy, which has one core, runs next to the tests
	@$(MAKE) --no-print-directory -j 2 types tests

lint: .venv/ready style types ## the pyproject files against .ci/metadata.py, ruff, mypy

style: .venv/ready
	$(BIN)/python .ci/metadata.py --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready
	$(BIN)/mypy $(SOURCES)

tests: .venv/ready
	$(BIN)/$(PYTEST)

docs: .venv/ready ## build the documentation into docs/site/
	$(BIN)/mkdocs build --strict -f docs/mkdocs.yml
	$(BIN)/python docs/check_pages.py docs/site

pages: .venv/ready ## write pages, tables and figures from rows in benchmarks/results (CHECK=1: only say what is stale)
	$(BIN)/python -m benchmarks.pages $(if $(CHECK),--check)

metadata: .venv/ready ## write what the distributions share into their pyproject files (after adding a folder)
	$(BIN)/python .ci/metadata.py

generated: .venv/ready ## write what is made from the fields of a run and a record (after an edit of their models)
	$(BIN)/python .ci/run_fields.py
	$(BIN)/python docs/record_pages.py

coverage: .venv/ready ## all tests, measuring what they run; fails where that is less than the floor
	$(BIN)/coverage erase
	COVERAGE_CORE=$(CORE) $(BIN)/coverage run -m pytest -n $(or $(WORKERS),auto) --dist loadfile --no-loadscope-reorder
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under $(COVERED)

fuzz: .venv/ready ## an hour of study files, plans, records, tables and options that a grammar makes, and models
	PUBENCH_FUZZ_SECONDS=$(or $(SECONDS),3600) $(BIN)/python -m pytest tests/test_fuzz.py \
		tests/test_worst_hour_inputs.py

oldest: .venv/ready ## tests with the oldest versions that the distributions say they work with, in .venv-oldest/
	$(BIN)/python .ci/oldest.py .venv-oldest --uv $(UV)
	.venv-oldest/bin/$(PYTEST) -W default $(OLDEST)

wheels: .venv/ready ## build every distribution into dist/, install the command with one method, try it
	$(BIN)/python .ci/wheels.py --uv $(UV)

gpu: .venv/ready ## what a GPU shows that a CPU cannot, in ten minutes; PRETEND=--pretend: the same steps on the CPU
	$(BIN)/python -m benchmarks.timing.gpu $(PRETEND)

clean: ## remove what these targets made
	rm -rf .venv .venv-oldest .uv dist docs/site .coverage*

.venv/ready: $(MANIFESTS) | $(UV)
	@echo "installing pubench and what it needs into .venv/; the first time this takes minutes"
	$(UV) $(SYNC)
	@touch $@

# uv, where the machine has none: into the project's own folder, with pip
.uv/bin/uv:
	@echo "fetching uv, which installs the rest, into .uv/"
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target .uv 'uv>=0.9'
