"""Heads of published encoders, which predict classes of texts or labels of words."""

import dataclasses
import importlib
import os
import pathlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from zoo.config import EncoderConfig
from zoo.conversion.hugging_face import check_shapes
from zoo.conversion.pooling import check_pooling
from zoo.conversion.settings import CONFIG, COUNT, check_values, read_architecture, read_json, read_setting
from zoo.models.encoder_model import EncoderModel
from zoo.serving.sentence_encoder import SentenceEncoder
from zoo.text.vocabularies import Vocabulary

_MOST_LABELS = 2**20
_NAMES = {"bert": "Bert", "distilbert": "DistilBert", "roberta": "Roberta"}  # Beginnings of architectures.
_PRETRAINED = "Model", "ForPreTraining", "ForMaskedLM", "ForNextSentencePrediction"  # Ends; encoders without a head.
_CLASSIFIER, _TAGGER = "ForSequenceClassification", "ForTokenClassification"
_PREDICTORS = {  # The tasks use this package.
    _CLASSIFIER: ("zoo.classification.predictor", "TextClassifier"),
    _TAGGER: ("zoo.labelling.predictor", "WordTagger"),
}
_POOLERS = {"bert": "tanh", "distilbert": "relu", "roberta": "tanh"}
_LAYERS = {  # Theirs, and ours.
    _CLASSIFIER: {
        "bert": {"pooler.dense": "pooler", "classifier": "head"},
        "distilbert": {"pre_classifier": "pooler", "classifier": "head"},
        "roberta": {"classifier.dense": "pooler", "classifier.out_proj": "head"},
    },
    _TAGGER: dict.fromkeys(_NAMES, {"classifier": "head"}),
}


class Head(NamedTuple):
    """What a published encoder ends with.

    Args:
        predictor_class: What predicts with it.
        config: Fields of its configuration beside those of the encoder.
        layers: Its layers: their names, and ours.
        labels: Names of its outputs; empty for an encoder alone.
    """

    predictor_class: type
    config: dict[str, Any]
    layers: dict[str, str]
    labels: list[str]

    def make_model(self, config: EncoderConfig, dtype: str | None) -> EncoderModel:
        """Makes the model, with random weights."""
        config = self.predictor_class.config_class(**dataclasses.asdict(config), **self.config)
        model = self.predictor_class.model_class(config, dtype=dtype)
        model.build()
        return model

    def take(self, arrays: Mapping[str, np.ndarray], width: int, path: os.PathLike) -> dict[str, np.ndarray]:
        """Returns the arrays of the head by the names of ours, with checked shapes."""
        taken, shapes = {}, {}
        for theirs, ours in self.layers.items():
            size = len(self.labels) if ours == "head" else width
            shapes |= {f"{theirs}.weight": (size, width), f"{theirs}.bias": (size,)}
            names = {f"{theirs}.weight": f"{ours}/kernel", f"{theirs}.bias": f"{ours}/bias"}
            taken |= {name: arrays[given].T for given, name in names.items() if given in arrays}
        check_shapes(path, arrays, shapes)
        return taken

    def make_predictor(self, model: EncoderModel, tokenizer: Vocabulary, max_tokens: int) -> Any:
        """Makes the predictor of a model."""
        labels = [self.labels] if self.labels else []
        return self.predictor_class(model, tokenizer, *labels, max_tokens=max_tokens)


def read_head(folder: str | os.PathLike, kind: str, pairs: bool = False) -> Head:
    """Reads from `config.json` which head a model has.

    Args:
        folder: Hugging Face folder of the model.
        kind: Its `model_type`.
        pairs: Whether a classifier reads pairs of texts, which no file says.

    Raises:
        ValueError: If the head is unknown, has fewer than two labels or does not choose one of them, or is to read
            pairs and does not.
    """
    found = read_json(folder, CONFIG)
    known = [_NAMES[kind] + end for end in (*_PRETRAINED, *_LAYERS)]
    architecture = read_architecture(folder, found, known, default=known[0])
    end = architecture.removeprefix(_NAMES[kind])
    if pairs and not (end == _CLASSIFIER and kind == "bert"):
        raise ValueError(f"Only a BertForSequenceClassification reads pairs. Received: a {architecture}. Leave it out.")
    if end in _PRETRAINED:
        check_pooling(folder)
        return Head(SentenceEncoder, {}, {}, [])
    check_values(folder, found, {"problem_type": ("single_label_classification", None)}, "a classifier")
    labels = _labels(folder, found)
    config = {"num_labels": len(labels)}
    if end == _CLASSIFIER:
        config = {"num_classes": len(labels), "num_texts": 1 + pairs, "pooling": "first", "pooler": _POOLERS[kind]}
    module, name = _PREDICTORS[end]
    return Head(getattr(importlib.import_module(module), name), config, _LAYERS[end][kind], labels)


def _labels(folder, found):
    """Returns the names of the outputs in their order."""
    labels = found.get("id2label", {"0": "LABEL_0", "1": "LABEL_1"})
    if isinstance(labels, dict) and "num_labels" in found:
        count = read_setting(folder, found, "num_labels", COUNT)
        if count != len(labels):  # As in transformers, where the number takes precedence.
            labels = {str(i): f"LABEL_{i}" for i in range(min(count, _MOST_LABELS))}
    numbered = isinstance(labels, dict) and sorted(labels) == sorted(map(str, range(len(labels))))
    names = [labels[str(i)] for i in range(len(labels))] if numbered else []
    if len(names) < 2 or len({*names}) < len(names) or not all(isinstance(name, str) and name for name in names):
        raise ValueError(
            f"{pathlib.Path(folder) / CONFIG} must have an id2label with different names of at least two "
            f"labels, numbered from 0. Received: {labels!r}. Correct it; models with one output, which is a number, "
            "are not read."
        )
    return names
