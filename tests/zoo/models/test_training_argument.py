"""Training reaches the dropouts inside of all models, also by the stateless call, which is `fit`'s on JAX."""

import dataclasses

import keras
import numpy as np
import pytest
import small_detector
from keras import ops

from zoo import config as configs
from zoo.image_config import ImageClassifierConfig
from zoo.models.classifier import Classifier
from zoo.models.detector import Detector
from zoo.models.image_classifier import ImageClassifier
from zoo.models.language_model import LanguageModel
from zoo.models.masked_language_model import MaskedLanguageModel
from zoo.models.non_autoregressive import NonAutoregressive
from zoo.models.seq2seq import Seq2Seq
from zoo.models.span_parser import SpanParser
from zoo.models.speech_recognizer import SpeechRecognizer
from zoo.models.tagger import Tagger
from zoo.speech_config import SpeechConfig

IDS = np.array([[2, 5, 6, 7, 3], [2, 9, 3, 0, 0]], "int32")
SIZES = {"vocabulary_size": 11, "hidden_dim": 16, "intermediate_dim": 24, "num_heads": 2, "dropout": 0.5}
ONE, BOTH = {**SIZES, "num_layers": 1}, {**SIZES, "num_encoder_layers": 1, "num_decoder_layers": 1}
IMAGE = {"hidden_dim": 16, "intermediate_dim": 24, "num_heads": 2, "dropout": 0.5, "num_layers": 1, "image_size": 8}
PIXELS = np.random.default_rng(0).integers(0, 256, (2, 8, 8, 3)).astype("uint8")
SOUND = np.random.default_rng(0).normal(0, 0.1, (2, 4000)).astype("float32")
CANVAS = {
    "images": np.random.default_rng(0).integers(0, 256, (2, 32, 48, 3)).astype("uint8"),
    "sizes": np.array([[32, 48], [20, 30]], "int32"),
}
MODELS = [
    (Seq2Seq, configs.ModelConfig(**BOTH), {"source": IDS, "target": IDS}),
    (NonAutoregressive, configs.NonAutoregressiveConfig(**BOTH), {"source": IDS, "target": IDS}),
    (LanguageModel, configs.LanguageModelConfig(**ONE), {"token_ids": IDS}),
    (Classifier, configs.ClassifierConfig(**ONE, num_classes=3), {"token_ids": IDS}),
    (MaskedLanguageModel, configs.EncoderConfig(**ONE), {"token_ids": IDS, "positions": IDS[:, 3:] * 0}),
    (Tagger, configs.TaggerConfig(**ONE, num_labels=3), {"token_ids": IDS, "word_ids": IDS[:, :2] * 0 + 1}),
    (SpanParser, configs.SpanParserConfig(**ONE, num_labels=3), {"token_ids": IDS, "boundary_ids": IDS[:, :3] * 0 + 1}),
    (ImageClassifier, ImageClassifierConfig(**IMAGE, num_classes=3), {"images": PIXELS}),
    (
        SpeechRecognizer,
        SpeechConfig(**BOTH, sampling_rate=8_000, num_mels=10, normalize_first=True),
        {"samples": SOUND, "num_samples": np.array([4000, 3000], "int32"), "target": IDS},
    ),
    (Detector, dataclasses.replace(small_detector.CONFIG, dropout=0.5), CANVAS),
]


@pytest.mark.parametrize(("model_class", "config", "inputs"), MODELS, ids=[each[0].__name__ for each in MODELS])
def test_the_stateless_call_is_the_call(model_class, config, inputs):
    """Keras's own calls `call`, which leaves out what `__call__` does."""
    keras.utils.set_random_seed(1)
    model = model_class(config)
    model.build()
    # Copies, since a value of TensorFlow changes with its variable.
    state = [copies(model.trainable_variables), copies(model.non_trainable_variables)]
    trained, following = model.stateless_call(*state, inputs, training=True)
    still, unchanged = model.stateless_call(*state, inputs, training=False)
    assert largest_difference(trained, model.stateless_call(state[0], following, inputs, training=True)[0]) > 1e-3
    assert largest_difference(still, model(inputs, training=False)) < 1e-5
    assert largest_difference(trained, model(inputs, training=True)) < 1e-5  # Draws the same random numbers.
    assert largest_difference(unchanged, state[1]) == 0
    assert largest_difference(following, state[1]) > 0
    assert largest_difference(following, copies(model.non_trainable_variables)) == 0


def copies(variables):
    return [ops.convert_to_tensor(np.array(variable)) for variable in variables]


def largest_difference(one, other):
    pairs = zip(keras.tree.flatten(one), keras.tree.flatten(other), strict=True)
    arrays = ([np.asarray(ops.convert_to_numpy(side), "float64") for side in pair] for pair in pairs)
    return max(float(np.abs(one - other).max()) for one, other in arrays)
