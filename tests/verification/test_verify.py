"""Tests that each probe passes a correct model and fails a model with the error that it detects."""

import keras
import numpy as np
import pytest
from faulty_layers import (
    REGISTERED,
    AlwaysDrops,
    BatchMean,
    Eagerly,
    Forgetful,
    OfFloat32,
    OfKnownLength,
    OneByOne,
    Part,
    ReducedSinusoids,
    RowNumber,
    Squared,
    StraightThrough,
    WithoutMask,
)
from keras import ops

from keras_transformer import Encoder, LearnedPositionalEncoding, PositionalEncoding, TokenEmbedding
from keras_transformer.ops.positions import sinusoidal_encoding
from keras_transformer.verification import probes, verify
from keras_transformer.verification.report import Finding, Report
from keras_transformer.verification.subject import Subject

BATCH = np.random.default_rng(1).integers(1, 30, (4, 10))
BATCH[1, 6:] = BATCH[2, 3:] = 0


needs_tensorflow = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="no lengths unknown")


def model(*faults, causal=False, positions=None, pooled=False):
    keras.utils.set_random_seed(1)
    ids = keras.Input((None,), dtype="int32")
    x = (positions or PositionalEncoding())(TokenEmbedding(30, 16)(ids))
    for fault in faults:
        x = fault(x)
    x = Encoder(num_layers=1, num_heads=2, intermediate_dim=32, dropout=0.1, name="encoder")(x, use_causal_mask=causal)
    if pooled:
        x = keras.layers.GlobalAveragePooling1D()(x)
    return keras.Model(ids, keras.layers.Dense(5)(x))


@pytest.mark.parametrize("options", [{}, {"causal": True}, {"pooled": True}])
def test_correct_model_passes(options, capsys):
    report = verify(model(**options), BATCH, causal=options.get("causal"))
    printed = capsys.readouterr().out
    assert str(report) in printed and "not requested" in printed and "FAILED" not in printed
    tried = {finding.probe for finding in report.findings if finding.passed}
    missing = {"cached equals uncached"} | ({"causality"} if not options.get("causal") else set())
    assert report.passed and len(tried) == 14 - len(missing), str(report)


@pytest.mark.parametrize(
    ("fault", "probe"),
    [
        (AlwaysDrops, probes.repeatability),
        (WithoutMask, probes.padding_invariance),
        pytest.param(OfKnownLength, probes.compiled, marks=needs_tensorflow),
        (Eagerly, probes.compiled),
        (Squared, lambda subject: probes.half_precision(subject, 0.1)),
        (BatchMean, probes.batch_invariance),
        (RowNumber, lambda subject: probes.permutation(subject, np.random.default_rng(1))),
        (StraightThrough, lambda subject: probes.gradient_of_padding(subject, np.random.default_rng(1))),
        (lambda: Forgetful(2.0), probes.saving),
    ],
)
def test_error_fails_its_probe(fault, probe):
    """All probes pass the same model without the error; see `test_correct_model_passes`."""
    found = probe(Subject(model(fault()), BATCH))
    assert found.passed is False and found.difference is not None, found


def test_compiled_calls_do_not_change_the_model():
    """Calls are compiled even if the model was compiled with `run_eagerly`."""
    tried = model(Eagerly())
    tried.compile(run_eagerly=True)
    kept = tried.predict_function
    assert probes.compiled(Subject(tried, BATCH)).passed is False
    assert tried.run_eagerly and tried.predict_function is kept


def test_non_causal_model_fails():
    found = probes.causality(Subject(model(), BATCH), "inputs", np.random.default_rng(1))
    assert found.passed is False and "see later steps" in found.note


@pytest.mark.parametrize("padding, passed", [("same", False), ("causal", True)])
def test_convolution_that_sees_only_the_next_step_fails(padding, passed):
    ids = keras.Input((None,), dtype="int32")
    x = TokenEmbedding(30, 16, mask_zero=False)(ids)
    convolution = keras.Model(ids, keras.layers.Conv1D(5, kernel_size=2, padding=padding)(x))
    found = probes.causality(Subject(convolution, BATCH), "inputs", np.random.default_rng(1))
    assert found.passed is passed, found


def test_non_finite_gradient_fails():
    """A quotient of zeros at padding has no effect on outputs, but its gradient is NaN, and NaN times zero is NaN."""

    @REGISTERED
    class Quotient(Part):
        def call(self, x, mask=None):
            x = x * ops.cast(mask[..., None], x.dtype)
            return ops.where(mask[..., None], x / ops.sum(x * x, axis=-1, keepdims=True), 0.0)

    found = probes.gradient_of_padding(Subject(model(Quotient()), BATCH), np.random.default_rng(1))
    assert found.passed is False and "is not finite" in found.note


def test_inexact_positions_in_half_precision_fail():
    long = np.random.default_rng(1).integers(1, 30, (2, 600))

    def found(tried):
        return probes.precision(Subject(tried, long), 0.1)

    assert found(model()).passed
    assert not found(model(positions=ReducedSinusoids())).passed
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        reduced = model(positions=ReducedSinusoids())
    finally:
        keras.config.set_dtype_policy("float32")
    assert found(reduced).passed is False and found(reduced).note.startswith("mixed_bfloat16 against float32, at")
    assert probes.padding_invariance(Subject(reduced, long)).passed


@pytest.mark.filterwarnings("ignore:.*softmax over axis -1")  # From the first step, which sees one key.
@pytest.mark.parametrize("fault", [None, "position", "mask"])
def test_cached_decoding_is_compared_step_by_step(fault):
    """Decoding at a wrong position, or with later steps of the cache visible, differs."""
    causal = model(causal=True)
    embedding, encoder, head = (causal.layers[i] for i in (1, 3, 4))

    def cached(inputs):
        def step(ids, state, index):
            seen, table = state
            table = ops.concatenate([table, embedding(ids[:, None])], axis=1)
            x = table + ops.cast(sinusoidal_encoding(ops.arange(ops.shape(table)[1]), 16), "float32")
            if fault == "position":
                x = table
            if fault == "mask":
                x = embedding(inputs) + ops.cast(sinusoidal_encoding(ops.arange(inputs.shape[1]), 16), "float32")
            return head(encoder(x, use_causal_mask=fault != "mask"))[:, seen], (seen + 1, table)

        return step, (0, ops.zeros((4, 0, 16)))

    found = probes.cached_decoding(Subject(causal, BATCH), "inputs", cached)
    assert found.passed is (fault is None), found


def test_named_inputs_that_share_their_steps():
    """Segments are padded with their tokens, and their zeros are not padding; inputs without steps do not change."""
    tokens, segments = (
        keras.Input((None,), dtype="int32", name="tokens"),
        keras.Input((None,), dtype="int32", name="segments"),
    )
    features = keras.Input((3,), name="features")
    embedded = TokenEmbedding(30, 16)(tokens)
    x = keras.layers.Add()([embedded, TokenEmbedding(2, 16, mask_zero=False)(segments)])
    x = Encoder(num_layers=1, num_heads=2, intermediate_dim=32)(x, mask=embedded._keras_mask)
    x = keras.layers.Concatenate()([keras.layers.GlobalAveragePooling1D()(x, mask=embedded._keras_mask), features])
    inputs = {"tokens": tokens, "segments": segments, "features": features}
    sound = keras.Model(inputs, keras.layers.Dense(2)(x))
    batch = {"tokens": BATCH, "segments": (BATCH > 9).astype("int32"), "features": np.ones((4, 3), "float32")}
    report = verify(sound, batch, aligned=[("tokens", "segments")], show=False)
    assert report.passed, str(report)


def test_features_are_padded_with_zeros():
    inputs = keras.Input((None, 6))
    x = keras.layers.Masking()(inputs)
    x = keras.layers.Dense(16)(x)
    x = Encoder(num_layers=1, num_heads=2, intermediate_dim=32)(x)
    features = np.random.default_rng(1).normal(size=(3, 8, 6)).astype("float32")
    features[1, 4:] = 0
    report = verify(keras.Model(inputs, x), features, show=False)
    assert report.passed and report["padding invariance"].passed, str(report)


@pytest.mark.slow
def test_lengths_that_a_model_does_not_take_are_left_out():
    """With learned positions no padding can be added behind the last one, and the reason is in the table."""
    report = verify(model(positions=LearnedPositionalEncoding(10)), BATCH, show=False)
    found = report["padding invariance"]
    assert report.passed and found.passed and "no padding added to inputs: ValueError" in found.note, str(report)
    full = np.where(BATCH == 0, 1, BATCH)
    found = verify(model(positions=LearnedPositionalEncoding(10)), full, show=False)["gradient of padding is zero"]
    assert found.passed is None and "not applicable: no padding" in found.note
    ids = keras.Input((10,), dtype="int32")
    x = Encoder(num_layers=1, num_heads=2, intermediate_dim=32)(TokenEmbedding(30, 16)(ids))
    report = verify(keras.Model(ids, keras.layers.Dense(5)(x)), BATCH, show=False)
    found = report["padding invariance"]
    assert report.passed and found.passed is None and found.note.startswith("not applicable: inputs has a fixed")


class Stubborn(keras.Model):
    """A model that has no configuration, so that it cannot be saved or copied."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def call(self, inputs, training=None):
        return self.inner(inputs)

    def get_config(self):
        raise NotImplementedError("no configuration")


def test_model_that_cannot_be_saved_fails():
    report = verify(Stubborn(model()), BATCH, show=False)
    assert not report.passed and report.failed == ("reduced precision", "float16", "save and reload")
    assert report["padding invariance"].passed, "the other probes run"
    assert report["save and reload"].note.startswith(
        "raised ValueError: save or load_model raised: NotImplementedError"
    )
    assert "from_config(get_config()) raised NotImplementedError: no configuration" in report["float16"].note


def test_lambda_layers_can_be_saved():
    """The file is loaded by the process that wrote it, so that nothing foreign runs."""
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Lambda(lambda x: x * 2.0, mask=lambda x, mask: mask)(TokenEmbedding(30, 16)(ids))
    found = probes.saving(Subject(keras.Model(ids, keras.layers.Dense(5)(x)), BATCH))
    assert found.passed, found


@pytest.mark.parametrize(
    ("fault", "failed", "note"),
    [
        (
            OneByOne,
            ("padding invariance", "batch invariance"),
            "RuntimeError: Exception encountered when calling OneByOne.call(): squeezed away",
        ),
        (
            OfFloat32,
            ("reduced precision", "float16"),
            "raised TypeError: Exception encountered when calling OfFloat32.call()",
        ),
    ],
)
def test_probe_that_raises_fails(fault, failed, note):
    report = verify(model(fault()), BATCH, show=False)
    assert report.failed == failed and not report.passed, str(report)
    assert all(note in report[probe].note for probe in failed)


def test_layers_of_a_policy_of_their_own_are_left_out():
    @REGISTERED
    class Own(keras.layers.Dense):
        def __init__(self, units, **kwargs):
            super().__init__(units, **{**kwargs, "dtype": "float32"})

    ids = keras.Input((None,), dtype="int32")
    report = verify(keras.Model(ids, Own(5)(TokenEmbedding(30, 16)(ids))), BATCH, show=False)
    assert report["float16"].passed is None and "does not take the dtype policy" in report["float16"].note


def test_failures_are_in_the_table():
    report = Report((Finding("causality", True), Finding("padding invariance", False, 0.25, "at step 3")))
    assert not report.passed and report.failed == ("padding invariance",)
    assert str(report).splitlines()[2].split() == ["padding", "invariance", "FAILED", "2.5e-01", "at", "step", "3"]


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        (BATCH[:1], {}, "two examples or more"),
        (BATCH[:, 0], {}, "Received no sequence"),
        (BATCH, {"causal": "target"}, "`causal` must name an input. Received: 'target'. Inputs: inputs"),
        (BATCH, {"aligned": [("inputs", "segments")]}, "must name inputs. Received: 'segments'"),
    ],
)
def test_invalid_arguments_raise(inputs, options, message):
    with pytest.raises(ValueError, match=message):
        verify(model(), inputs, show=False, **options)
