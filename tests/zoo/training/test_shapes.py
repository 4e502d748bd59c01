"""Tests how often training compiles: Keras turns XLA on where there is a GPU, which compiles each shape anew."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from trainer_checks import CONFIG, assert_close, batch_of, make_real, random_pairs, train

from keras_transformer.training import TokenCrossEntropy
from zoo.corpora.batching import BatchStream
from zoo.corpora.encoded_corpus import EncodedCorpus
from zoo.corpora.token_rows import TokenRows
from zoo.training.trainer import Trainer


@pytest.fixture
def one_gpu(monkeypatch):
    found = [*tf.config.list_physical_devices("CPU"), tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")]

    def list_physical_devices(device_type=None):
        return [device for device in found if device_type in (None, device.device_type)]

    monkeypatch.setattr(tf.config, "list_physical_devices", list_physical_devices)


def test_keras_chooses_xla_on_a_gpu(one_gpu):
    """The reason for all this; if it changes, `ConfiguredModel.compile` may go."""
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    assert model.jit_compile


def test_models_are_traced_for_all_shapes_together(one_gpu, tmp_path):
    model, traces = make_real(dropout=True), []
    call = model.call
    model.call = lambda *args, **kwargs: traces.append(1) or call(*args, **kwargs)
    model.compile("adam", TokenCrossEntropy())
    assert not model.jit_compile
    shapes = [batch_of(random_pairs(rows, seed=rows)) for rows in range(1, 13)]
    assert len({(batch["source"].shape, batch["target"].shape) for batch in shapes}) == 12

    def examples():
        for batch in shapes:
            yield {"source": batch["source"], "target": batch["target"][:, :-1]}, batch["target"][:, 1:]

    ids = tf.TensorSpec((None, None), tf.int32)
    signature = {"source": ids, "target": ids}, ids
    dataset = tf.data.Dataset.from_generator(examples, output_signature=signature)
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(12))
    model.fit(dataset, verbose=0, shuffle=False)
    assert len(traces) <= 2
    assert not Trainer(make_real(dropout=True), CONFIG, tmp_path).model.jit_compile


def test_compiled_models_load_with_their_choice(one_gpu, tmp_path):
    for jit_compile in (False, True):
        model = make_real(dropout=False)
        model.compile("adam", TokenCrossEntropy(), jit_compile=jit_compile)
        model.optimizer.build(model.trainable_variables)
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        assert loaded.compiled and loaded.jit_compile == jit_compile
        assert isinstance(loaded.optimizer, keras.optimizers.Adam) and isinstance(loaded.loss, TokenCrossEntropy)


def test_padded_batches_have_few_shapes():
    rng = np.random.default_rng(1)
    sides = [[[5] * length for length in np.clip(rng.poisson(9, 20_000) + 1, 1, 60)] for _ in range(2)]
    corpus = EncodedCorpus(*map(TokenRows.of, sides))
    shapes = {}
    for multiple in (1, 8):
        stream = BatchStream(corpus, 1024, seed=1, pad_multiple=multiple)
        batches = [batch for batch, _ in zip(stream, range(stream.batches_in(0)))]
        shapes[multiple] = {(batch["source"].shape, batch["target"].shape) for batch in batches}
    assert len(shapes[1]) > 100 and len(shapes[8]) < 16


@pytest.mark.slow
def test_xla_trains_the_same(tmp_path):
    batches = [batch_of(random_pairs(6, seed=1))] * 6
    _, expected = train(make_real(dropout=False), batches, tmp_path / "plain")
    trainer, found = train(make_real(dropout=False), batches, tmp_path / "xla", jit_compile=True)
    assert trainer.model.jit_compile
    assert_close(found, expected)
