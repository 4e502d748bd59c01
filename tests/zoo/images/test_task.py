"""Training on files, resuming, loading, fine-tuning, predicting and the command line."""

import dataclasses
import itertools
import json
import shutil

import keras
import numpy as np
import pytest
from report_checks import check_outcomes, check_report
from run_states import copied_at_evaluation, was_resumed

import zoo
from zoo.commands import checking
from zoo.config import Recipe
from zoo.image_config import ImageClassifierConfig
from zoo.images import task
from zoo.images.__main__ import main
from zoo.images.data import open_images
from zoo.images.predictor import ImagePredictor
from zoo.models.image_classifier import ImageClassifier
from zoo.storage.checkpoints import read_card, write_card
from zoo.training_config import ImageAugmentConfig, TrainingConfig

MODEL = ImageClassifierConfig(
    hidden_dim=16,
    intermediate_dim=32,
    num_heads=2,
    num_layers=1,
    image_size=12,
    inner_dim=8,
    num_residual_blocks=1,
    convolution_normalization="batch",
    dropout=0.0,
    normalize_first=True,
)
RECIPE = Recipe(
    MODEL,
    TrainingConfig(
        batch_tokens=20,
        steps=60,
        warmup_steps=10,
        cooldown_steps=40,
        peak_learning_rate=1e-2,
        evaluate_every=30,
        average=1,
        score="accuracy",
        image_augment=ImageAugmentConfig(flip=True, shift=1),
    ),
)


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory):
    path, lines = tmp_path_factory.mktemp("run") / "run", []
    with copied_at_evaluation(2, path, path.with_name("half")):
        predictor = task.train(RECIPE, open_images(folder), open_images(folder), path, {"name": "x"}, log=lines.append)
    return predictor, path, lines


def test_training_learns_and_the_checkpoint_is_the_same(trained, folder):
    predictor, path, lines = trained
    assert any("60 images from 60 files; 3 classes: blue, green, red" in line for line in lines)
    accuracy = predictor.card["scores"][0]
    assert accuracy["metric"] == "accuracy" and accuracy["value"] > 90
    log = [json.loads(line) for line in (path / "checkpoint" / "log.jsonl").read_text("utf-8").splitlines()]
    assert [line["step"] for line in log] == [30, 60] and all(line["examples_per_second"] > 0 for line in log)
    files = sorted(folder.rglob("*.png"))
    loaded = zoo.load(path)
    assert isinstance(loaded, ImagePredictor) and loaded.labels == ["blue", "green", "red"]
    assert loaded.classify(files) == predictor.classify(files)
    assert not (path / "checkpoint" / "vocabulary.model").exists() and loaded.temperature == predictor.temperature
    found = task.evaluate(loaded, open_images(folder))
    assert found.scores[0].value == pytest.approx(accuracy["value"])
    check_outcomes(found, 60, kind=np.ndarray)
    check_report(path, predictor.card)


def test_the_temperature_divides_the_logits(trained, folder):
    predictor, files = trained[0], sorted(folder.rglob("*.png"))[:9]
    before, temperature = predictor.probabilities(files).astype("float64"), predictor.temperature
    predictor.temperature = 2 * temperature
    found = predictor.probabilities(files)
    predictor.temperature = temperature
    expected = before**0.5
    np.testing.assert_allclose(found, expected / expected.sum(1, keepdims=True), atol=1e-5)
    assert np.abs(found - before).max() > 1e-3


def test_mirrored_logits_are_means_of_both_sides(trained, folder, tmp_path, capsys):
    """An image and its mirror image then have the same probabilities. The setting is saved."""
    predictor, files = zoo.load(trained[1]), sorted(folder.rglob("*.png"))[:9]
    images = predictor.rows(files)
    plain = predictor.probabilities(images)
    both = [np.asarray(predictor.model({"images": each}), "float64") for each in (images, images[:, :, ::-1])]
    powers = np.exp((both[0] + both[1]) / 2 / predictor.temperature)
    predictor.mirrored = True
    found = predictor.probabilities(images)
    np.testing.assert_allclose(found, powers / powers.sum(1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(predictor.probabilities(images[:, :, ::-1]), found, atol=1e-5)
    assert np.abs(found - plain).max() > 1e-4
    predictor.save(tmp_path / "mirrored")
    assert zoo.load(tmp_path / "mirrored").mirrored
    arguments = ["classify", "--checkpoint", str(tmp_path / "mirrored"), str(files[0])]
    for option, expected in (([], found), (["--no-mirrored"], plain)):
        assert main([*arguments, *option]) == 0
        assert capsys.readouterr().out.split("\t")[2].strip() == f"{expected[0].max():.4f}"
    with pytest.raises(ValueError, match="`mirrored` must be True or False. Received: mirrored='yes'"):
        predictor.mirrored = "yes"


def test_images_are_paths_bytes_or_arrays(trained, folder):
    predictor, path = trained[0], folder / "red" / "03.png"
    array = [*open_images(folder)][43].image
    np.testing.assert_array_equal(*[predictor.probabilities([image]) for image in (path, array)])
    expected = predictor.probabilities([array] * 2)
    np.testing.assert_array_equal(predictor.probabilities([path.read_bytes(), str(path)]), expected)
    assert predictor.classify([]) == [] and predictor.probabilities([]).shape == (0, 3)
    large = np.repeat(np.repeat(array, 3, 0), 3, 1)
    assert predictor.probabilities([large]).argmax() == predictor.probabilities([array]).argmax()
    with pytest.raises(ValueError, match="`images` must be a list"):
        predictor.classify(str(path))


def test_recorded_answers_are_checked(trained, folder, tmp_path):
    """The card keeps the files, so they are no longer needed; another file no longer gives the answer."""
    checkpoint = shutil.copytree(trained[1] / "checkpoint", tmp_path / "checkpoint")
    files = [shutil.copy(folder / label / "00.png", tmp_path / label) for label in ("red", "blue")]
    checking.record(checkpoint, files)
    for file in files:
        file.unlink()
    answers = [*checking.check(str(checkpoint))][1]
    assert answers.passed and answers.detail == "those of the card to 2 files"
    card = read_card(checkpoint)
    assert [answer.split("\t")[0] for answer in card["checks"]["answers"]] == ["red", "blue"]
    card["checks"]["files"].reverse()
    write_card(checkpoint, card)
    answers = [*checking.check(str(checkpoint))][1]
    assert not answers.passed and "file 1 gives 'blue" in answers.detail
    (tmp_path / "large.png").write_bytes(bytes(100_001))
    with pytest.raises(ValueError, match="more than 100,000 bytes"):
        checking.record(checkpoint, [tmp_path / "large.png"])


@pytest.mark.parametrize("pooling", ["attention", "mean", "token", "tokens"])
def test_rollout_adds_up_all_paths(pooling):
    """The share of a cell is the sum over the paths from the pooling down to it, block by block."""
    config = dataclasses.replace(MODEL, num_layers=2, image_size=4, num_convolutions=1, pooling=pooling, num_classes=3)
    keras.utils.set_random_seed(1)
    model = ImageClassifier(config)
    model.build()
    for weight in model.trainable_variables:
        weight.assign(3 * keras.random.normal(weight.shape, seed=len(weight.path)))
    image = np.random.default_rng(2).integers(0, 256, (1, 4, 4, 3), "uint8")
    found = np.asarray(model.attention_rollout(image))[0].ravel()
    encoder = model.image_encoder
    x, scores = encoder.encoder(encoder.embed(image), return_attention_scores=True)
    lower, upper = (np.asarray(each)[0].mean(0) for each in scores)
    if pooling == "attention":
        logits = np.asarray(x)[0] @ np.asarray(model.pooling.query)[0] / 4
        last = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    else:
        first = {"token": 1, "tokens": 2, "mean": len(lower)}[pooling]
        last = np.where(np.arange(len(lower)) < first, 1 / first, 0)
    expected = np.zeros(len(lower))
    for top, middle, bottom in itertools.product(range(len(lower)), repeat=3):
        step = [(weights[a, b] + (a == b)) / 2 for weights, a, b in ((upper, top, middle), (lower, middle, bottom))]
        expected[bottom] += last[top] * step[0] * step[1]
    np.testing.assert_allclose(found, expected[config.num_class_tokens :], atol=1e-6)
    assert found.sum() == pytest.approx(1) or config.num_class_tokens
    assert found.std() > 1e-3


def test_picture_of_where_the_model_looks(trained, folder, tmp_path):
    pytest.importorskip("matplotlib")
    checkpoint, file = str(trained[1] / "checkpoint"), str(folder / "red" / "00.png")
    picture = tmp_path / "attention.png"
    assert main(["classify", "--checkpoint", checkpoint, "--picture", str(picture), file]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_chunks_change_nothing(trained, folder):
    predictor, files = trained[0], sorted(folder.rglob("*.png"))
    expected, done = predictor.probabilities(files), []
    small = ImagePredictor(predictor.model, labels=predictor.labels, batch_images=7, temperature=predictor.temperature)
    np.testing.assert_allclose(small.probabilities(files, done.append), expected, atol=1e-5)
    assert sum(done) == 60 and done[0] == 7


def test_an_interrupted_run_resumes_to_the_same_weights(trained, folder):
    arguments = RECIPE, open_images(folder), open_images(folder), trained[1].with_name("half"), {"name": "x"}
    resumed = task.train(*arguments, log=lambda text: None)
    assert was_resumed(arguments[3], trained[1])
    for one, other in zip(resumed.model.weights, trained[0].model.weights):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_fine_tuning_keeps_the_encoder(trained, folder, tmp_path):
    """Other classes: the head is new, and without an update the encoder is that of the initial model."""
    shutil.copytree(folder, tmp_path / "images", ignore=shutil.ignore_patterns("red"))
    few = dataclasses.replace(
        RECIPE.training, steps=1, cooldown_steps=0, evaluate_every=1, warmup_steps=1, peak_learning_rate=1e-9
    )
    recipe = dataclasses.replace(RECIPE, training=few)
    corpus = open_images(tmp_path / "images")
    tuned = task.train(recipe, corpus, corpus, tmp_path / "run", initial=trained[0], log=lambda text: None)
    assert tuned.labels == ["blue", "green"]
    encoders = [predictor.model.image_encoder.trainable_weights for predictor in (tuned, trained[0])]
    for one, other in zip(*encoders):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), atol=1e-6)


@pytest.mark.parametrize("pooling", ["token", "tokens", "mean"])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_variants_depend_on_places(pooling, positions):
    """A model without positions would not see that two halves are exchanged, up to the borders of patches."""
    patches = {"embedding": "patches", "patch_size": 3, "num_residual_blocks": 0, "convolution_normalization": "layer"}
    config = dataclasses.replace(MODEL, **patches, pooling=pooling, positions=positions)
    model = ImageClassifier(config)
    model.build()
    rng = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(np.asarray(weight) + 0.3 * rng.normal(size=weight.shape))
    image = rng.integers(0, 256, (1, 12, 12, 3), "uint8")
    turned = np.roll(image, 6, axis=2)
    one, other = (np.asarray(model({"images": pixels})) for pixels in (image, turned))
    assert one.shape == (1, 2) and np.abs(one - other).max() > 1e-3


def test_wrong_corpora_and_settings_are_refused(trained, folder, tmp_path):
    (tmp_path / "one").mkdir()
    shutil.copytree(folder / "red", tmp_path / "one" / "red")
    corpus = open_images(folder)
    with pytest.raises(ValueError, match="at least two classes. Received: 1 .red."):
        task.train(RECIPE, open_images(tmp_path / "one"), corpus, tmp_path / "a", log=lambda text: None)
    shutil.copytree(folder / "red", tmp_path / "other" / "pink")
    with pytest.raises(
        ValueError, match="Each class of the dev corpus must be one of blue, green, red. Received: 'pink'"
    ):
        task.train(RECIPE, corpus, open_images(tmp_path / "other"), tmp_path / "b", log=lambda text: None)
    wrong = dataclasses.replace(RECIPE, training=dataclasses.replace(RECIPE.training, lowercase=True))
    with pytest.raises(ValueError, match="`lowercase` has no effect in this task"):
        task.train(wrong, corpus, corpus, tmp_path / "c", log=lambda text: None)
    larger = dataclasses.replace(RECIPE, model=dataclasses.replace(MODEL, image_size=24))
    with pytest.raises(ValueError, match="the size of those of the initial model, 12"):
        task.train(larger, corpus, corpus, tmp_path / "d", initial=trained[0], log=lambda text: None)
    for wrong in (dict(image_size=10, embedding="patches"), dict(hidden_dim=18, positions="sinusoidal", num_heads=2)):
        with pytest.raises(ValueError, match="multiple of"):
            dataclasses.replace(MODEL, **wrong)
    with pytest.raises(ValueError, match="Patches have no convolutions. Received: num_residual_blocks=1"):
        dataclasses.replace(MODEL, embedding="patches", patch_size=3)
    with pytest.raises(ValueError, match="Only pairs of convolutions are normalized. Received: convolution_norm"):
        dataclasses.replace(MODEL, num_residual_blocks=0)


def test_command_line(trained, folder, tmp_path, capsys):
    checkpoint = str(trained[1] / "checkpoint")
    files = [str(folder / label / "05.png") for label in trained[0].labels]
    assert main(["classify", "--checkpoint", checkpoint, *files]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    expected = trained[0].classify(files)
    assert [(path, label) for path, label, _ in lines] == [(f, label) for f, (label, _) in zip(files, expected)]
    assert main(["evaluate", "--checkpoint", checkpoint, "--data", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "accuracy" in out and "most often confused with" in out
    (tmp_path / "note.jpg").write_text("no image")
    assert main(["classify", "--checkpoint", checkpoint, str(tmp_path / "note.jpg")]) == 2
    assert "note.jpg: The file must be an image" in capsys.readouterr().err
    both = [str(tmp_path / "note.jpg"), str(tmp_path / "missing.jpg"), *files]
    assert main(["classify", "--checkpoint", checkpoint, *both]) == 2
    captured = capsys.readouterr()
    assert [line.split("\t")[0] for line in captured.out.splitlines()] == files, "the others go on"
    assert "note.jpg: The file must be an image" in captured.err and "missing.jpg" in captured.err
    assert f"2 of {len(both)} files could not be read" in captured.err


@pytest.mark.slow
def test_exported_models_classify_as_in_python(trained, folder, tmp_path):
    """Files of several kinds and sizes; a file over the limit and one that is no image are errors."""
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    from PIL import Image

    arguments = ["--checkpoint", str(trained[1] / "checkpoint"), "--output", str(tmp_path / "model")]
    assert main(["export", *arguments, "--max-bytes", "5000", "--mirrored"]) == 0
    predictor = zoo.load(trained[1])
    predictor.mirrored = True
    serve = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    files = [path.read_bytes() for path in sorted(folder.rglob("*.png"))]
    for kind, size in (("jpeg", (12, 12)), ("png", (30, 12)), ("gif", (24, 50)), ("bmp", (13, 12))):
        Image.open(folder / "red" / "01.png").resize(size).save(tmp_path / f"x.{kind}")
        files.append((tmp_path / f"x.{kind}").read_bytes())
    found = serve(image=tf.constant(files))
    np.testing.assert_allclose(found["probabilities"], predictor.probabilities(files), atol=0.05)
    expected = [label for label, _ in predictor.classify(files[:60])]
    assert [label.decode() for label in found["labels"].numpy()][:60] == expected
    assert serve(image=tf.constant([], tf.string))["probabilities"].shape == (0, 3)
    for wrong in (b"no image", b"x" * 6000):
        with pytest.raises(tf.errors.InvalidArgumentError):
            serve(image=tf.constant([wrong]))
