"""Faults in language models."""

from faults import Fault

MODEL = "tests/zoo/models/test_language_model.py"
PACKED = "tests/zoo/corpora/test_packed_corpus.py"
SCORING = "tests/zoo/language_modelling/test_scoring.py"
GENERATION = "tests/zoo/language_modelling/test_generation.py"
SAMPLING = "tests/decoding/test_sampling.py"
ENSEMBLE = "tests/zoo/language_modelling/test_ensemble.py"

LANGUAGE = [
    Fault(
        "zoo/models/language_model.py",
        'ops.ones((ops.shape(visible)[0], length), "bool")',
        'ops.zeros((ops.shape(visible)[0], length), "bool")',
        "tests/zoo/models/test_language_model.py",
    ),
    Fault(
        "zoo/models/language_model.py",
        "[None, :] > steps[:, None] - window",
        "[None, :] >= steps[:, None] - window",
        MODEL,
    ),
    Fault(
        "zoo/models/language_model.py",
        "ops.maximum(steps[None, :] - first[:, None], 0)",
        "steps[None, :] + 0 * first[:, None]",
        MODEL,
    ),
    Fault("zoo/models/language_model.py", "steps - 1 + 0 * first", "steps + 0 * first", MODEL),
    Fault("zoo/corpora/packed_corpus.py", "self.ids[places + 1]", "self.ids[places]", PACKED),
    Fault("zoo/corpora/packed_corpus.py", "[self.seed, self.number]", "[self.seed, 0]", PACKED),
    Fault("zoo/language_modelling/scoring.py", "known = done - first - 1", "known = max(0, done - first - 2)", SCORING),
    Fault("zoo/language_modelling/generation.py", "range(1, len(stop))", "range(2, len(stop))", GENERATION),
    Fault("zoo/language_modelling/generation.py", "self.text[: min(places)]", "self.text[: max(places)]", GENERATION),
    Fault("keras_transformer/decoding/sampling.py", "index + i, 0, None)", "index, 0, None)", SAMPLING),
    Fault("keras_transformer/decoding/repetition.py", "seen = ops.logical_or(seen, here)", "seen = here", SAMPLING),
    Fault("zoo/models/ensemble.py", "(0, *ends)", "(*ends, 0)", ENSEMBLE),
    Fault("zoo/models/ensemble.py", "self.max_positions = min(", "self.max_positions = max(", ENSEMBLE),
    Fault("zoo/serving/ensembles.py", "if other.tokenizer.digest != expected", "if False", ENSEMBLE),
    Fault("zoo/serving/ensembles.py", "if not predictors", "if False", ENSEMBLE),
    Fault("zoo/language_modelling/ensemble.py", "set.intersection", "set.union", ENSEMBLE),
    Fault("zoo/language_modelling/ensemble.py", "max_tokens=min(", "max_tokens=max(", ENSEMBLE),
    Fault("zoo/commands/ensemble_commands.py", "filter(_is_checkpoint, others)", "others", ENSEMBLE, slow=True),
]
