# All targets set up what they need; PYTHON chooses the interpreter of the environment.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: venv demo check test nightly lint format docs bench release clean

venv: $(VENV)/installed

$(VENV)/installed: pyproject.toml setup.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

demo: venv
	$(BIN)/python run_demo.py

test: venv
	$(BIN)/python -m pytest -m "not nightly" --numprocesses=2 --dist=loadfile \
		--no-loadscope-reorder --durations=25

# What test leaves out: the rest of each grid, benchmarks, notebooks, releases.
nightly: venv
	$(BIN)/python -m pytest -m nightly --numprocesses=2 --dist=loadfile \
		--no-loadscope-reorder --durations=25

# Lint and the quick half of the suite, for use while working.
check: lint
	$(BIN)/python -m pytest -m "not slow and not nightly" --numprocesses=2 --dist=loadfile \
		--no-loadscope-reorder

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/vermin --quiet --target=3.10- --violations \
		albert_tf benchmarks data_pipeline tests tools *.py

format: venv
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The pages and the public names as a site, in site/.
docs: venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: demo
	$(BIN)/python -m benchmarks.data_pipeline --input_file=demo_output/text/corpus.txt \
		--spm_model_file=demo_output/vocab/docstrings.model

# Built, checked, installed and run on every Python that is there; uploads nothing.
release: venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	$(BIN)/python -m tools.release

clean:
	rm -rf $(VENV) demo_output site
