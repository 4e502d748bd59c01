"""Tests of exports by Keras to SavedModel, LiteRT and ONNX, for any length and with masks."""

import keras
import layer_checks as checks
import numpy as np
import pytest

from keras_transformer import Encoder, PositionalEncoding, TokenEmbedding

pytestmark = checks.tensorflow_only
V = 30


def saved_model(model, path):
    import tensorflow as tf

    model.export(path, verbose=False)
    loaded = tf.saved_model.load(str(path))
    return lambda ids: loaded.serve(ids).numpy()


def litert(model, path):
    import tensorflow as tf

    if tuple(map(int, keras.__version__.split(".")[:2])) < (3, 13):
        pytest.skip("Keras 3.12 exports no LiteRT")
    model.export(f"{path}.tflite", format="litert", verbose=False)
    interpreter = tf.lite.Interpreter(f"{path}.tflite")

    def run(ids):
        (inputs,), (outputs,) = interpreter.get_input_details(), interpreter.get_output_details()
        interpreter.resize_tensor_input(inputs["index"], ids.shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(inputs["index"], ids.astype(inputs["dtype"]))
        interpreter.invoke()
        return interpreter.get_tensor(outputs["index"])

    return run


def onnx(model, path):
    pytest.importorskip("tf2onnx", reason="tf2onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model.export(f"{path}.onnx", format="onnx", verbose=False)
    session = runtime.InferenceSession(f"{path}.onnx", providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda ids: session.run(None, {name: ids})[0]


@pytest.fixture(scope="module")
def model():
    """Returns an encoder of token ids with a mean over the real tokens, which needs the mask behind all layers."""
    ids = keras.Input((None,), dtype="int32")
    x = PositionalEncoding()(TokenEmbedding(V, 16)(ids))
    x = Encoder(2, num_heads=2, intermediate_dim=24, normalize_first=True)(x)
    model = keras.Model(ids, keras.layers.GlobalAveragePooling1D()(x))
    return checks.randomize(model)


@pytest.mark.filterwarnings("ignore")  # Warnings of the converters.
@pytest.mark.parametrize("export", [saved_model, litert, onnx])
def test_exported_models_give_the_same_for_any_length_and_ignore_padding(export, model, tmp_path):
    run = export(model, tmp_path / "model")
    for rows, lengths in ((1, (4,)), (3, (9, 2, 5)), (2, (1, 17))):
        ids = np.random.default_rng(rows).integers(1, V, (rows, max(lengths))).astype("int32")
        ids *= checks.lengths_mask(lengths, max(lengths))
        expected = checks.numpy(model(ids))
        np.testing.assert_allclose(run(ids), expected, atol=1e-5)
        np.testing.assert_allclose(run(np.pad(ids, ((0, 0), (0, 3)))), expected, atol=1e-5)
