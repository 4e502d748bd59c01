"""Graphs that ONNX Runtime and LiteRT compute give what their models give, for any batch and length.

The other pairs of model and runtime are in tests/zoo/conversion/test_export_formats.py.
"""

import numpy as np
import pytest
from keras import ops

from zoo.config import ClassifierConfig, ModelConfig
from zoo.conversion.model_graphs import model_graphs
from zoo.models.classifier import Classifier
from zoo.models.seq2seq import Seq2Seq

SIZES = {"vocabulary_size": 29, "hidden_dim": 12, "intermediate_dim": 20, "num_heads": 3, "dropout": 0.0}


class Predictor:
    """What a graph takes of a predictor."""

    inputs, labels, task = ("token_ids",), ["a", "b"], "translation"

    def __init__(self, model):
        self.model = model
        model.build()

    def softmax(self, token_ids):
        return ops.softmax(self.model({"token_ids": token_ids}))


def onnx_runners(graphs):
    pytest.importorskip("tf2onnx", reason="tf2onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    from zoo.tf.graph_formats import onnx_files

    def runner(content):
        session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return lambda **inputs: dict(zip(names, session.run(None, inputs)))

    return {name.removesuffix(".onnx"): runner(content) for name, content in onnx_files(graphs, None).items()}


def litert_runners(graphs):
    runtime = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    from zoo.tf.graph_formats import litert_files

    (content,) = litert_files(graphs, None).values()
    interpreter = runtime.Interpreter(model_content=content)
    return {name: interpreter.get_signature_runner(name) for name in graphs}


def source_rows(rows, steps):
    ids = np.random.default_rng(rows).integers(4, 29, (rows, steps)).astype("int32")
    ids[0, steps // 2 + 1 :] = 0
    return ids


@pytest.mark.filterwarnings("ignore")  # Warnings of the converters.
def test_a_classifier_in_onnx():
    config = ClassifierConfig(**SIZES, num_layers=1, num_classes=2, ngrams=2, activation="gelu")
    predictor = Predictor(Classifier(config))
    run = onnx_runners(model_graphs(predictor))["model"]
    for ids in (source_rows(1, 2), source_rows(3, 7)):
        expected = ops.convert_to_numpy(predictor.softmax(ids))
        np.testing.assert_allclose(run(token_ids=ids)["probabilities"], expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_steps_of_a_translator_in_litert_give_the_logits_of_the_whole_target():
    predictor = Predictor(Seq2Seq(ModelConfig(**SIZES, num_encoder_layers=1, num_decoder_layers=2)))
    graphs = model_graphs(predictor)
    run = litert_runners(graphs)
    for rows, steps in ((1, 3), (2, 5)):
        source, target = source_rows(rows, steps), source_rows(rows + 5, 4)[-rows:]
        expected = ops.convert_to_numpy(predictor.model({"source": source, "target": target}))
        memory = run["encode"](source=source)
        cache = {name: np.zeros((rows, 3, 6, 4), "float32") for name in graphs["step"].inputs if "cache" in name}
        for index in range(4):
            tokens = {"token_ids": target[:, index], "index": np.array(index, "int32")}
            found = run["step"](**tokens, **memory, **cache)
            cache = {name: found[f"new_{name}"] for name in cache}
            np.testing.assert_allclose(found["logits"], expected[:, index], atol=1e-5)
