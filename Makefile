# make demo   set up in .venv/, run nnPU on an embedded real data set, print the result table
# make test   the same set-up, then lint and all tests
# make lint   ruff and mypy
# make docs   build the documentation into docs/site/

PYTHON ?= python3
UV     := $(or $(shell command -v uv 2>/dev/null),.uv/bin/uv)
BIN    := .venv/bin
MANIFESTS := pyproject.toml $(wildcard pubench_*/pyproject.toml plugins/*/*/pyproject.toml)
SOURCES   := $(wildcard pubench_*/src plugins/*/*/src)

# where byte code is not kept, every command compiles its imports anew, for longer than it works
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint docs clean

demo: .venv/ready
	$(BIN)/pubench run --method nnpu --data digits --mech scar --c 0.1

test: .venv/ready lint
	$(BIN)/python -m pytest -n auto --dist loadfile # a file's tests share what they set up

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(SOURCES)

docs: .venv/ready
	$(UV) sync --quiet --all-groups
	$(BIN)/mkdocs build --strict -f docs/mkdocs.yml

clean:
	rm -rf .venv .uv docs/site

.venv/ready: $(MANIFESTS) | $(UV)
	$(UV) sync --quiet
	@touch $@

# uv, where the machine has none: into the project's own folder, with pip
.uv/bin/uv:
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target .uv 'uv>=0.9'
