"""Training on files, resuming, loading, transcribing, export and the command line."""

import dataclasses
import json
import types

import keras
import numpy as np
import pytest
import tones
from report_checks import check_outcomes, check_report
from run_states import copied_at_evaluation, was_resumed

import zoo
from zoo.config import Recipe
from zoo.corpora.changed_recordings import ChangedRecordings
from zoo.recognition import task
from zoo.recognition.__main__ import main
from zoo.recognition.data import open_recordings
from zoo.recognition.predictor import SpeechTranscriber
from zoo.speech_config import SpeechConfig
from zoo.training_config import SoundAugmentConfig, TrainingConfig

pytestmark = pytest.mark.slow

pytest.importorskip("jiwer", reason="jiwer is not installed")

MODEL = SpeechConfig(
    hidden_dim=32,
    intermediate_dim=64,
    num_heads=2,
    num_encoder_layers=1,
    num_decoder_layers=1,
    sampling_rate=tones.RATE,
    num_mels=16,
    attention_window=8,
    dropout=0.0,
    time_masks=0,
    frequency_width=2,
    normalize_first=True,
)
RECIPE = Recipe(
    MODEL,
    TrainingConfig(
        batch_tokens=160,
        steps=160,
        warmup_steps=20,
        cooldown_steps=100,
        peak_learning_rate=5e-3,
        evaluate_every=80,
        average=1,
        score="wer",
        pieces="characters",
    ),
)


def corpus(folder):
    return open_recordings(folder / "table.tsv")


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory):
    path, lines = tmp_path_factory.mktemp("run") / "run", []
    with copied_at_evaluation(2, path, path.with_name("half")):
        predictor = task.train(RECIPE, corpus(folder), corpus(folder), path, {"name": "x"}, log=lines.append)
    return predictor, path, lines


def test_training_learns_and_the_checkpoint_is_the_same(trained, folder):
    predictor, path, lines = trained
    rate = predictor.card["scores"][0]
    assert rate["metric"] == "word error rate" and rate["value"] < 40 and rate["ctc_weight"] == 0.8
    assert any("80 recordings (0 minutes) from 80 entries" in line for line in lines)
    log = [json.loads(line) for line in (path / "checkpoint" / "log.jsonl").read_text("utf-8").splitlines()]
    assert [line["step"] for line in log] == [80, 160] and log[-1]["dev_loss"] < log[0]["dev_loss"]
    files = sorted(folder.glob("*.wav"))[:20]
    loaded = zoo.load(path)
    assert isinstance(loaded, SpeechTranscriber) and loaded.transcribe(files) == predictor.transcribe(files)
    found = task.evaluate(loaded, corpus(folder))
    assert found.scores[0].value == pytest.approx(rate["value"])
    check_outcomes(found, 80, "texts right")
    check_report(path, predictor.card)
    assert not (path / "corpus").exists()


def test_an_interrupted_run_ends_with_the_same_weights(trained, folder):
    predictor, path, _ = trained
    half = path.with_name("half")
    resumed = task.train(RECIPE, corpus(folder), corpus(folder), half, {"name": "x"}, log=lambda text: None)
    assert was_resumed(half, path)
    for one, other in zip(predictor.model.weights, resumed.model.weights):
        if "seed" not in one.path:
            np.testing.assert_array_equal(*map(keras.ops.convert_to_numpy, (one, other)))


def test_recordings_are_changed_as_the_recipe_says(folder):
    for changes in (SoundAugmentConfig(), SoundAugmentConfig(noise=0.5)):
        run = types.SimpleNamespace(settings=dataclasses.replace(RECIPE.training, sound_augment=changes), config=MODEL)
        rows = task.Recognition().with_noise("rows", run)
        assert rows == ("rows" if not changes else ChangedRecordings("rows", changes, 1, tones.RATE))


def test_recordings_do_not_depend_on_the_batch(trained, folder):
    predictor, files = trained[0], sorted(folder.glob("*.wav"))[:8]
    assert predictor.transcribe(files) == [predictor.transcribe([file])[0] for file in files]
    assert predictor.transcribe([]) == [] and predictor.transcribe([np.zeros(8_000, "int16")]) == [""]
    assert isinstance(predictor.transcribe([np.full(3, 0.5, "float32")])[0], str)
    with pytest.raises(ValueError, match="`recordings` must be a list"):
        predictor.transcribe(str(files[0]))
    with pytest.raises(ValueError, match="table.tsv: The file must be a recording"):
        predictor.transcribe([folder / "table.tsv"])


def test_longer_recordings_than_in_training(trained):
    """The encoder computes the same of a word anywhere, and CTC neither loops nor leaves out anything."""
    rng, predictor = np.random.default_rng(5), trained[0]
    text = " ".join(tones.random_text(rng, 1) for _ in range(30))
    sound = tones.tone(text, rng)
    assert len(sound) > 4 * tones.RATE
    expected, predictor.ctc_weight = text.split(), 1.0
    words = predictor.transcribe([sound])[0].split()
    assert len(words) == len(expected) and sum(a == b for a, b in zip(words, expected)) > 15
    predictor.max_seconds = 2.0
    try:
        cut = predictor.transcribe([sound])[0].split()
        assert (
            sum(a == b for a, b in zip(cut, expected)) > 10
            and len(predictor.parts((sound * 2**15).astype("int16"))) > 2
        )
    finally:
        predictor.max_seconds, predictor.ctc_weight = 30.0, 0.8


def test_words_are_streamed(trained):
    rng, predictor = np.random.default_rng(6), zoo.load(trained[1])
    predictor.ctc_weight = 1.0
    sound = tones.tone("ab c ba cab a", rng)
    words = [*predictor.stream(sound, 0.3)]
    assert len(words) == 5 and sum(a == b for a, b in zip(words, "ab c ba cab a".split())) >= 4
    assert [*predictor.stream(sound, 100.0)] == predictor.transcribe([sound])[0].split()
    assert [*predictor.stream(np.zeros(8_000, "int16"))] == []


def test_attention_is_over_real_steps(trained):
    sound = tones.tone("abc", np.random.default_rng(7))
    weights = trained[0].attention(sound, "abc")
    steps = -(-len(sound) // MODEL.samples_per_step)
    assert weights.shape[1] == steps and len(weights) >= 4
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-5)


@pytest.mark.long
def test_fine_tuning_starts_from_the_model(trained, folder, tmp_path):
    settings = dataclasses.replace(RECIPE.training, steps=1, warmup_steps=1, cooldown_steps=0, peak_learning_rate=1e-9)
    recipe = dataclasses.replace(RECIPE, training=settings)
    tuned = task.train(
        recipe, corpus(folder), corpus(folder), tmp_path / "run", initial=trained[0], log=lambda text: None
    )
    assert tuned.card["scores"][0]["value"] == pytest.approx(trained[0].card["scores"][0]["value"], abs=3)
    other = dataclasses.replace(recipe, model=dataclasses.replace(MODEL, sampling_rate=16_000))
    with pytest.raises(ValueError, match="sampling rate must be that of the initial model"):
        task.train(other, corpus(folder), corpus(folder), tmp_path / "other", initial=trained[0])


@pytest.mark.long
def test_fit_on_examples(trained, folder):
    from zoo.recognition.loss import CTCAndTokenCrossEntropy

    model = SpeechTranscriber(trained[0].model.__class__(trained[0].model.config), trained[0].tokenizer)
    files = sorted(folder.glob("*.wav"))[:8]
    texts = [example.text for example in corpus(folder)][:8]
    batch = model.encode_examples(files, texts).gather(np.arange(8), [60, 12], 0)
    inputs, labels = model.split(batch)
    model.model.compile("adam", CTCAndTokenCrossEntropy(0.3, 3))
    assert np.isfinite(model.model.train_on_batch(inputs, labels))


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="SavedModels are TensorFlow's")
def test_exported_model(trained, folder, tmp_path):
    pytest.importorskip("tensorflow_text")
    import tensorflow as tf

    predictor, files = trained[0], sorted(folder.glob("*.wav"))[:6]
    card = predictor.export(tmp_path / "served")
    assert card["limits"]["max_bytes"] == 20_000_000
    signatures = tf.saved_model.load(str(tmp_path / "served")).signatures
    content = tf.constant([file.read_bytes() for file in files])
    found = [text.decode() for text in signatures["serving_default"](audio=content)["text"].numpy()]
    assert found == predictor.transcribe(files)
    sound = tones.tone("ab", np.random.default_rng(1))
    padded = tf.constant(np.pad(sound, (0, 99), constant_values=0.5)[None])
    found = signatures["samples"](samples=padded, num_samples=tf.constant([len(sound)]))["text"].numpy()
    assert [found[0].decode()] == predictor.transcribe([sound])
    assert signatures["serving_default"](audio=tf.constant([], tf.string))["text"].shape == (0,)
    with pytest.raises(tf.errors.InvalidArgumentError, match="8000 samples a second"):
        signatures["serving_default"](audio=tf.constant([tones.wav(sound, 16_000)]))


@pytest.mark.long
def test_command_line(trained, folder, tmp_path, capsys):
    path, file = str(trained[1]), str(folder / "00.wav")
    assert main(["evaluate", "--checkpoint", path, "--data", str(folder / "table.tsv"), "--ctc-weight", "1"]) == 0
    assert "word error rate" in capsys.readouterr().out
    picture = tmp_path / "letters.png"
    options = ["--picture", str(picture)]
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        options = []
    assert main(["transcribe", "--checkpoint", path, "--beam-size", "2", *options, file]) == 0
    assert capsys.readouterr().out.startswith(f"{file}\t") and picture.exists() == bool(options)
    assert main(["transcribe", "--checkpoint", path, "--stream", file]) == 0
    assert capsys.readouterr().out.startswith(f"{file}\t")
    assert main(["transcribe", "--checkpoint", path, str(folder / "table.tsv")]) == 2
    assert "must be a recording" in capsys.readouterr().err
    for options in ([], ["--stream"]):
        assert main(["transcribe", "--checkpoint", path, *options, str(folder / "table.tsv"), file]) == 2
        captured = capsys.readouterr()
        assert captured.out.startswith(f"{file}\t") and "table.tsv" in captured.err and "1 of 2 files" in captured.err
    with pytest.raises(ValueError, match="`beam_size` must be at least 1"):
        SpeechTranscriber(trained[0].model, trained[0].tokenizer, beam_size=0)
