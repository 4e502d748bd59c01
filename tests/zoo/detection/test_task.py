"""Training on files, resuming, loading, fine-tuning, detecting, drawing, export and the command line."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
from PIL import Image
from report_checks import check_outcomes, check_report
from run_states import copied_at_evaluation, was_resumed

import zoo
from zoo.commands import checking
from zoo.config import Recipe
from zoo.detection import task
from zoo.detection.__main__ import main
from zoo.detection.data import Object, open_boxes
from zoo.detection.predictor import ObjectDetector
from zoo.detection_config import DetectorConfig
from zoo.storage.checkpoints import read_card, write_card
from zoo.training_config import BoxAugmentConfig, TrainingConfig

pytestmark = pytest.mark.slow

MODEL = DetectorConfig(
    hidden_dim=32,
    intermediate_dim=64,
    num_heads=2,
    num_encoder_layers=1,
    num_decoder_layers=2,
    image_rows=32,
    image_columns=32,
    channels=8,
    num_stages=2,
    num_residual_blocks=1,
    num_queries=6,
    query_groups=2,
    dropout=0.0,
    normalize_first=True,
)
RECIPE = Recipe(
    MODEL,
    TrainingConfig(
        batch_tokens=20,
        steps=200,
        warmup_steps=20,
        cooldown_steps=100,
        peak_learning_rate=4e-3,
        evaluate_every=100,
        average=1,
        score="ap50",
        box_augment=BoxAugmentConfig(flip=True),
    ),
)


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory):
    path, lines = tmp_path_factory.mktemp("run") / "run", []
    with copied_at_evaluation(2, path, path.with_name("half")):
        predictor = task.train(RECIPE, open_boxes(folder), open_boxes(folder), path, {"name": "x"}, log=lines.append)
    return predictor, path, lines


def test_training_learns_and_the_checkpoint_is_the_same(trained, folder):
    predictor, path, lines = trained
    assert any("2 classes: bright, dark" in line for line in lines)
    at_half = predictor.card["scores"][0]
    assert at_half["metric"] == "AP50" and at_half["value"] > 50
    log = [json.loads(line) for line in (path / "checkpoint" / "log.jsonl").read_text("utf-8").splitlines()]
    assert [line["step"] for line in log] == [100, 200] and all(line["objects_per_second"] > 0 for line in log)
    files = sorted(folder.glob("*.png"))
    loaded = zoo.load(path)
    assert (
        isinstance(loaded, ObjectDetector)
        and loaded.labels == ["bright", "dark"]
        and loaded.min_score == predictor.min_score > 0
    )
    assert loaded.detect(files) == predictor.detect(files)
    found = task.evaluate(loaded, open_boxes(folder))
    assert found.scores[0].value == pytest.approx(at_half["value"])
    check_outcomes(found, 40, "exact sets", np.ndarray)
    check_report(path, predictor.card)


def test_boxes_are_in_pixels_of_each_image(trained, folder, drawn):
    """Those of an image of twice the size are twice as large; padding at one side changes little."""
    predictor, image = trained[0], drawn[0][0]
    large = np.repeat(np.repeat(image, 2, 0), 2, 1)
    one, two = predictor.find([image, large])
    np.testing.assert_allclose(two.boxes[0] / 2, one.boxes[0], atol=2)
    assert (np.diff(one.scores) <= 0).all() and one.boxes.min() >= 0 and one.boxes.max() <= 32
    path = sorted(folder.glob("*.png"))[0]
    for same in (path, str(path), path.read_bytes()):
        np.testing.assert_array_equal(predictor.find([same])[0].boxes, predictor.find([image])[0].boxes)
    assert predictor.find([]) == [] and predictor.detect([image], min_score=1.0) == [[]]
    assert len(predictor.detect([image], min_score=0.0)[0]) == 6
    with pytest.raises(ValueError, match="`images` must be a list"):
        predictor.find(str(path))


def test_each_axis_has_its_own_scale(trained):
    """A picture of 5 rows and 64 columns is resized to 2 and 32: rows are made larger by 5 / 2, columns by 2."""
    image = np.random.default_rng(0).integers(0, 256, (5, 64, 3), "uint8")
    canvases, sizes = trained[0].canvases([image])
    assert sizes.tolist() == [[2, 32]]
    boxes = np.asarray(trained[0].predictions(canvases, sizes)[2])[0]
    expected = (boxes * [2, 2.5, 2, 2.5]).clip(0, [64, 5, 64, 5])
    np.testing.assert_allclose(trained[0].find([image])[0].boxes, expected, atol=1e-3)


def test_ignored_objects_are_not_learned(trained, drawn):
    kept, ignored = Object("bright", (2.0, 3.0, 9.0, 12.0)), Object("dark", (5.0, 5.0, 20.0, 20.0), ignored=True)
    rows = [trained[0].encode_examples([drawn[0][0]], [objects]).arrays() for objects in ([kept, ignored], [kept])]
    for one, other in zip(*rows, strict=True):
        np.testing.assert_array_equal(one, other)


def test_chunks_change_nothing(trained, folder):
    predictor, files, done = trained[0], sorted(folder.glob("*.png")), []
    small = ObjectDetector(predictor.model, labels=predictor.labels, batch_images=7)
    for one, other in zip(small.find(files, done.append), predictor.find(files), strict=True):
        np.testing.assert_allclose(one.boxes, other.boxes, atol=1e-2)
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-4)
    assert sum(done) == 40 and done[0] == 7


def test_examples_are_what_training_reads(trained, folder):
    """The boxes of encoded examples are those of the corpus of a training run."""
    examples = [*open_boxes(folder)]
    rows = trained[0].encode_examples([example.image for example in examples], [each.objects for each in examples])
    read = task._task.read(RECIPE, open_boxes(folder), open_boxes(folder), lambda text: None).train
    for one, other in zip(rows.arrays(), read.arrays(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_interrupted_run_resumes_to_the_same_weights(trained, folder):
    arguments = RECIPE, open_boxes(folder), open_boxes(folder), trained[1].with_name("half"), {"name": "x"}
    resumed = task.train(*arguments, log=lambda text: None)
    assert was_resumed(arguments[3], trained[1])
    for one, other in zip(resumed.model.weights, trained[0].model.weights):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.long
def test_parts_of_an_update_give_the_same_as_the_whole(folder, tmp_path):
    """Seven images in three parts: rows of padding fill the last one, and count as no image without objects."""
    losses = []
    for number, positions in enumerate((0, 3)):
        settings = dataclasses.replace(
            RECIPE.training,
            batch_tokens=7,
            micro_batch_tokens=positions,
            steps=4,
            cooldown_steps=0,
            warmup_steps=4,
            evaluate_every=4,
        )
        recipe, path = dataclasses.replace(RECIPE, training=settings), tmp_path / str(number)
        task.train(recipe, open_boxes(folder), open_boxes(folder), path, log=lambda text: None)
        losses.append(json.loads((path / "checkpoint" / "log.jsonl").read_text("utf-8"))["train_loss"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.long
def test_fine_tuning_starts_with_all_that_fits(trained, folder, tmp_path):
    few = dataclasses.replace(
        RECIPE.training, steps=1, cooldown_steps=0, evaluate_every=1, warmup_steps=1, peak_learning_rate=1e-9
    )
    recipe, corpus = dataclasses.replace(RECIPE, training=few), open_boxes(folder)
    tuned = task.train(recipe, corpus, corpus, tmp_path / "run", initial=trained[0], log=lambda text: None)
    for one, other in zip(tuned.model.weights, trained[0].model.weights):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), atol=1e-6)
    more = dataclasses.replace(recipe, model=dataclasses.replace(MODEL, num_queries=9))
    with pytest.raises(ValueError, match="num_queries=6. Received: model.num_queries=9"):
        task.train(more, corpus, corpus, tmp_path / "other", initial=trained[0], log=lambda text: None)


def test_wrong_corpora_and_settings_are_refused(folder, tmp_path):
    corpus = open_boxes(folder)
    few = dataclasses.replace(RECIPE, model=dataclasses.replace(MODEL, num_queries=2))
    with pytest.raises(ValueError, match="as many queries as objects in an image, 3. Received: model.num_queries=2"):
        task.train(few, corpus, corpus, tmp_path / "a", log=lambda text: None)
    other = tmp_path / "other"
    other.mkdir()
    (other / "00.png").write_bytes((folder / "00.png").read_bytes())
    (other / "00.xml").write_text((folder / "00.xml").read_text().replace("bright", "red").replace("dark", "red"))
    with pytest.raises(ValueError, match="Each class of the dev corpus must be one of bright, dark. Received: 'red'"):
        task.train(RECIPE, corpus, open_boxes(other), tmp_path / "b", log=lambda text: None)
    (other / "00.xml").write_text("<annotation></annotation>")
    with pytest.raises(ValueError, match="must have objects"):
        task.train(RECIPE, open_boxes(other), corpus, tmp_path / "c", log=lambda text: None)
    wrong = dataclasses.replace(RECIPE, training=dataclasses.replace(RECIPE.training, label_smoothing=0.2))
    with pytest.raises(ValueError, match="`label_smoothing` has no effect in this task"):
        task.train(wrong, corpus, corpus, tmp_path / "d", log=lambda text: None)


def test_command_line(trained, folder, tmp_path, capsys):
    checkpoint = str(trained[1] / "checkpoint")
    files = [str(folder / f"{number:02d}.png") for number in range(3)]
    assert main(["detect", "--checkpoint", checkpoint, *files, "--draw", str(tmp_path / "drawn")]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    expected = [
        [path, label, f"{score:.4f}", *(f"{side:.1f}" for side in box)]
        for path, objects in zip(files, trained[0].detect(files))
        for label, score, box in objects
    ]
    assert lines == expected and len(lines) > 2
    assert sorted(path.name for path in (tmp_path / "drawn").iterdir()) == ["00.png", "01.png", "02.png"]
    picture = tmp_path / "boxes.jpg"
    assert main(["detect", "--checkpoint", checkpoint, files[0], "--draw", str(picture), "--min-score", "0.9"]) == 0
    assert picture.read_bytes().startswith(b"\xff\xd8")
    capsys.readouterr()
    assert main(["evaluate", "--checkpoint", checkpoint, "--data", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "AP50" in out and "exact sets" in out and "bright" in out
    (tmp_path / "note.jpg").write_text("no image")
    assert main(["detect", "--checkpoint", checkpoint, str(tmp_path / "note.jpg"), files[0]]) == 2
    captured = capsys.readouterr()
    assert {line.split("\t")[0] for line in captured.out.splitlines()} == {files[0]}
    assert "note.jpg: The file must be an image" in captured.err


@pytest.mark.long
def test_recorded_answers_are_checked(trained, folder, tmp_path):
    """The answer to a file has a line for each object; without objects it is empty."""
    checkpoint = shutil.copytree(trained[1] / "checkpoint", tmp_path / "checkpoint")
    empty = tmp_path / "empty.png"
    Image.fromarray(np.full((32, 32, 3), 125, "uint8")).save(empty)
    checking.record(checkpoint, [str(folder / "00.png"), str(empty), str(folder / "01.png")])
    answers = [*checking.check(str(checkpoint))][1]
    assert answers.passed and answers.detail == "those of the card to 3 files"
    card = read_card(checkpoint)
    recorded = [answer.splitlines() for answer in card["checks"]["answers"]]
    found = trained[0].detect([folder / "00.png", empty, folder / "01.png"])
    assert [len(lines) for lines in recorded] == [len(objects) for objects in found]
    card["checks"]["answers"][2] = "\n".join(recorded[2][:-1])
    write_card(checkpoint, card)
    answers = [*checking.check(str(checkpoint))][1]
    assert not answers.passed and "file 3 gives" in answers.detail


def test_exported_models_detect_as_in_python(trained, folder, drawn, tmp_path):
    """Files of several kinds and sizes; a file over the limit and one that is no image are errors."""
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    arguments = ["--checkpoint", str(trained[1] / "checkpoint"), "--output", str(tmp_path / "model")]
    assert main(["export", *arguments, "--max-bytes", "8000"]) == 0
    serve = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    files = [path.read_bytes() for path in sorted(folder.glob("*.png"))]
    for kind, size in (("bmp", (32, 32)), ("png", (64, 32)), ("bmp", (30, 15))):
        Image.open(folder / "01.png").resize(size).save(tmp_path / f"x.{kind}")
        files.append((tmp_path / f"x.{kind}").read_bytes())
    found = {name: tensor.numpy() for name, tensor in serve(image=tf.constant(files)).items()}
    for i, expected in enumerate(trained[0].find(files)):
        sure = expected.scores > 0.5
        counted = (expected.scores >= trained[0].min_score).sum()
        assert abs(found["count"][i] - counted) <= (i >= len(drawn))  # Only the last images are resized.
        np.testing.assert_allclose(found["scores"][i][sure], expected.scores[sure], atol=0.1)
        np.testing.assert_allclose(found["boxes"][i][sure], expected.boxes[sure], atol=1.5)
        labels = [trained[0].labels[number].encode() for number in expected.classes]
        assert found["labels"][i][sure].tolist() == [label for label, kept in zip(labels, sure) if kept]
    assert serve(image=tf.constant([], tf.string))["boxes"].shape == (0, 6, 4)
    for wrong in (b"no image", b"x" * 9000):
        with pytest.raises(tf.errors.InvalidArgumentError):
            serve(image=tf.constant([wrong]))
