"""What is drawn is what was given: values of pictures, labels, lines; wrong shapes are refused."""

import json

import keras
import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from keras_transformer import LearnedPositionalEncoding, MultiHeadAttention, PositionalEncoding, sinusoidal_encoding
from keras_transformer.decoding import beam_search
from keras_transformer.training import InverseSquareRoot
from keras_transformer.visualize import (
    BeamRecorder,
    plot_attention,
    plot_beam,
    plot_masks,
    plot_positions,
    plot_schedule,
    plot_training,
)


def pictures(figure):
    """Returns the arrays of all pictures of a figure, without colour bars."""
    return [np.asarray(axes.images[0].get_array()) for axes in figure.axes if axes.images]


def words(labels):
    return [label.get_text() for label in labels]


def test_attention_has_a_picture_for_each_head():
    layer = MultiHeadAttention(num_heads=3, key_dim=4)
    x = np.random.default_rng(0).normal(size=(1, 5, 12)).astype("float32")
    _, weights = layer(x, x, return_attention_scores=True)
    names = ["the", "$5$ cat", "sat", "_", "."]
    figure = plot_attention(weights[0], names, names)
    for found, expected in zip(pictures(figure), np.asarray(weights)[0], strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert words(figure.axes[0].get_xticklabels()) == words(figure.axes[0].get_yticklabels()) == names
    assert figure._repr_png_().startswith(b"\x89PNG"), "what notebooks show"
    assert len(pictures(plot_attention(np.eye(3)))) == 1


def test_wrong_weights_and_names_are_refused():
    with pytest.raises(ValueError, match="`weights` must have 2 or 3 axes"):
        plot_attention(np.zeros((1, 2, 3, 3)))
    with pytest.raises(ValueError, match="`keys` must have a name for each of 4 steps. Received: 3"):
        plot_attention(np.zeros((2, 4)), keys="abc")
    with pytest.raises(ValueError, match="elements"):
        plot_attention(np.zeros((2, 0)))


def test_masks_have_a_cell_for_each_pair():
    causal = np.tril(np.ones((3, 3), bool))
    figure = plot_masks({"causal": causal, "padding": np.array([True, True, False, False])})
    cells = [np.asarray(axes.collections[0].get_array()).astype(bool) for axes in figure.axes]
    np.testing.assert_array_equal(cells[0].reshape(3, 3), causal)
    np.testing.assert_array_equal(cells[1].ravel(), [True, True, False, False])
    assert [axes.get_title() for axes in figure.axes] == ["causal", "padding"] and figure.axes[0].yaxis_inverted()
    with pytest.raises(ValueError, match="at least one mask"):
        plot_masks({})


@pytest.mark.parametrize("built", [False, True])
def test_positions_are_vectors_and_their_cosines(built):
    vectors, cosines = pictures(plot_positions(PositionalEncoding(), steps=7, hidden_dim=6))
    expected = np.asarray(sinusoidal_encoding(np.arange(7), 6))
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    lengths = np.linalg.norm(expected, axis=1)
    np.testing.assert_allclose(cosines, expected @ expected.T / np.outer(lengths, lengths), atol=1e-6)
    layer = LearnedPositionalEncoding(5)
    if built:
        layer.build((None, None, 4))
        vectors, _ = pictures(plot_positions(layer))
        np.testing.assert_allclose(vectors, np.asarray(layer.weights[0])[:5], atol=1e-6)
    else:
        np.testing.assert_allclose(pictures(plot_positions(expected))[0], expected, atol=1e-6)


def test_schedules_are_lines():
    schedules = {"a": InverseSquareRoot(1e-3, 10), "b": lambda step: 2.0}
    axes = plot_schedule(schedules, 40).axes[0]
    steps, rates = axes.lines[0].get_data()
    np.testing.assert_allclose(steps, np.arange(40))
    np.testing.assert_allclose(rates, [float(schedules["a"](step)) for step in range(40)], rtol=1e-6)
    assert words(axes.get_legend().get_texts()) == ["a", "b"] and set(axes.lines[1].get_ydata()) == {2.0}
    with pytest.raises(ValueError, match="steps=0"):
        plot_schedule(schedules, 0)


def test_training_runs_are_curves(tmp_path):
    lines = [
        {"step": step, "train_loss": 3 - step / 10, "dev_loss": 3 - step / 20, "dev_bleu": step} for step in (5, 9)
    ]
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    figure = plot_training(tmp_path)
    assert [axes.get_title() for axes in figure.axes] == ["loss", "bleu"]
    curves = {line.get_label(): line.get_data() for axes in figure.axes for line in axes.lines}
    np.testing.assert_allclose(curves["dev_loss"], [[5, 9], [2.75, 2.55]])
    history = keras.callbacks.History()
    history.history = {"loss": [2.0, 1.0], "val_loss": [3.0, 2.0]}
    (axes,) = plot_training(history).axes
    np.testing.assert_allclose(axes.lines[1].get_data(), [[1, 2], [3, 2]])
    with pytest.raises(ValueError, match="log.jsonl"):
        plot_training(str(tmp_path / "training" / "none"))
    with pytest.raises(ValueError, match="must have figures"):
        plot_training({})


START, END, PAD = 2, 1, 0
LOGITS = np.random.default_rng(3).normal(size=(6, 6)).astype("float32")  # Of the next token, given the last one.
LOG_PROBS = LOGITS - np.log(np.exp(LOGITS).sum(-1, keepdims=True))


def record(beam_size=3, limit=4):
    def step(token_ids, state, index):
        return keras.ops.take(keras.ops.convert_to_tensor(LOGITS), token_ids, axis=0), state

    recorder = BeamRecorder(step, keras.ops.zeros((beam_size, 1)), beam_size)
    options = {"start_id": START, "end_id": END, "pad_id": PAD, "max_lengths": keras.ops.convert_to_tensor([limit])}
    found = beam_search(recorder.step, recorder.state, beam_size=beam_size, **options)
    return recorder, found


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="JAX compiles searches")
def test_beams_are_the_best_prefixes():
    """Of all extensions of the beams of the step before, by tokens that may follow."""
    recorder, _ = record()
    beams = {(): 0.0}
    prefixes = [[()]]
    for step in range(1, len(recorder.tokens)):
        tokens, parents = recorder.tokens[step].tolist(), recorder.parents[step].tolist()
        prefixes.append([(*prefixes[-1][parent], token) for parent, token in zip(parents, tokens)])
        options = {
            (*prefix, token): value + LOG_PROBS[prefix[-1] if prefix else START, token]
            for prefix, value in beams.items()
            for token in (3, 4, 5)
        }
        best = sorted(options, key=options.get, reverse=True)[:3]
        assert prefixes[-1] == best
        np.testing.assert_allclose(recorder.log_probs[step], [options[prefix] for prefix in best], rtol=1e-5)
        beams = {prefix: options[prefix] for prefix in best}
        parents, tokens, log_probs = recorder.considered[step - 1]
        everything = np.concatenate(
            [recorder.log_probs[step - 1][i] + LOG_PROBS[recorder.tokens[step - 1][i]] for i in range(3)]
        )
        np.testing.assert_allclose(log_probs, np.sort(everything)[::-1][:9], rtol=1e-5)
        np.testing.assert_allclose(everything[6 * parents + tokens], log_probs, rtol=1e-5)
    assert len(recorder.tokens) >= 3


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="JAX compiles searches")
def test_recording_changes_no_search():
    recorder, found = record()

    def step(token_ids, state, index):
        return keras.ops.take(keras.ops.convert_to_tensor(LOGITS), token_ids, axis=0), state

    options = {"start_id": START, "end_id": END, "pad_id": PAD, "max_lengths": keras.ops.convert_to_tensor([4])}
    plain = beam_search(step, keras.ops.zeros((3, 1)), beam_size=3, **options)
    np.testing.assert_array_equal(np.asarray(found.ids), np.asarray(plain.ids))
    names = ["<pad>", "<end>", "<start>", "$a$", "b", "c"]
    figure = plot_beam(recorder, names)
    shown = words(figure.axes[0].texts)
    beams = sum(int(np.isfinite(values).sum()) for values in recorder.log_probs)
    assert len(shown) == beams and shown[0] == "<start>\n0.00"
    assert shown[1] == f"{names[recorder.tokens[1][0]]}\n{recorder.log_probs[1][0]:.2f}"
    assert len(figure.axes[0].lines) == beams - 1
    with pytest.raises(ValueError, match="no step"):
        plot_beam(BeamRecorder(step, keras.ops.zeros((3, 1)), 3))
