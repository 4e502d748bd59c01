"""The folders that `export --format onnx | litert` writes give what their models give, and nothing else is written."""

import itertools
import json
import os
import pathlib
import runpy
import sys

import byte_pair_folder
import keras
import numpy as np
import pytest
import small_detector
from small_vocabulary import TOKENIZER, WORDS

import zoo
from zoo.classification.__main__ import main as classification
from zoo.classification.predictor import TextClassifier
from zoo.config import ClassifierConfig, ModelConfig, NonAutoregressiveConfig, TaggerConfig
from zoo.conversion import to_runtimes
from zoo.conversion.text_rules import tokenizer_files
from zoo.conversion.to_runtimes import load_runtime, write_runtime
from zoo.corpora.word_rows import encode_windows, window_characters
from zoo.detection.__main__ import main as detection
from zoo.detection.predictor import ObjectDetector
from zoo.image_config import ImageClassifierConfig
from zoo.images.__main__ import main as images
from zoo.images.predictor import ImagePredictor
from zoo.labelling.predictor import WordTagger
from zoo.models.classifier import Classifier
from zoo.models.image_classifier import ImageClassifier
from zoo.models.non_autoregressive import NonAutoregressive
from zoo.models.seq2seq import Seq2Seq
from zoo.models.tagger import Tagger
from zoo.parsing.__main__ import main as parsing
from zoo.text.byte_pair_tokenizer import BytePairTokenizer
from zoo.text.tokenizer_training import train_tokenizer
from zoo.translation.__main__ import main as translation
from zoo.translation.data import open_pairs
from zoo.translation.ensemble import EnsembleTranslator
from zoo.translation.non_autoregressive import NonAutoregressiveTranslator
from zoo.translation.predictor import Translator
from zoo.translation.segments import split_texts

ROOT = pathlib.Path(__file__).parents[3]
SIZES = {"vocabulary_size": 380, "hidden_dim": 12, "intermediate_dim": 20, "num_heads": 3, "dropout": 0.0}
LAYERS = {"num_encoder_layers": 1, "num_decoder_layers": 1}
TEXTS = ["the small dog", "SEES A LARGE house, and THE dog", "see www.example.org", "12", ""]


def need(*modules):
    for module in modules:
        pytest.importorskip(module, reason=f"{module.replace('_', '-')} is not installed")


def tiny_translator(**sizes):
    model = Seq2Seq(ModelConfig(**{**SIZES, **LAYERS, **sizes}))
    model.build()
    sentences = [" ".join(WORDS[i:] + WORDS[:i]) for i in range(len(WORDS))]
    tokenizer = train_tokenizer(sentences * 9, 380, case_markup=True)
    return Translator(model, tokenizer, {"name": "tiny"}, max_repeats=0, max_extra_tokens=6, placeholders=True)


def example(folder):
    """The translator of the example, without its `main`."""
    return runpy.run_path(str(ROOT / "examples" / "onnx_translator.py"))["Translator"](folder)


@pytest.mark.filterwarnings("ignore")  # Warnings of the converters.
def test_the_example_translates_as_the_model_does(tmp_path):
    need("tf2onnx", "onnxruntime")
    translator = tiny_translator()
    translator.save(tmp_path / "model")
    folder = tmp_path / "onnx"
    command = ["export", "--checkpoint", str(tmp_path / "model"), "--format", "onnx", "--output", str(folder)]
    assert translation(command) == 0
    files = {"encode.onnx", "step.onnx", "model.json", "sentencepiece.model"}
    assert {path.name for path in folder.iterdir()} == files
    facts = json.loads((folder / "model.json").read_text("utf-8"))
    assert (facts["name"], facts["special_ids"]) == ("tiny", {"pad": 0, "unknown": 1, "start": 2, "end": 3})
    assert 0 < facts["largest_difference"] < 1e-4
    expected = translator.translate(TEXTS, beam_size=1)
    assert len({*expected}) > 3 and example(folder).translate(TEXTS) == expected


@pytest.mark.filterwarnings("ignore")
def test_a_classifier_of_pairs_in_litert(tmp_path):
    need("ai_edge_litert.interpreter")
    model = Classifier(
        ClassifierConfig(**SIZES, num_layers=1, num_classes=3, num_texts=2, num_segments=2, ngrams=2, activation="gelu")
    )
    model.build()
    classifier = TextClassifier(model, TOKENIZER, ["x", "y", "z"], temperature=0.3)
    classifier.save(tmp_path / "model")
    command = ["export", "--checkpoint", str(tmp_path / "model"), "--format", "litert", "--output"]
    assert classification([*command, str(tmp_path / "litert")]) == 0
    facts = json.loads((tmp_path / "litert" / "model.json").read_text("utf-8"))
    assert (facts["labels"], facts["temperature"]) == (["x", "y", "z"], 0.3)
    rows = [TOKENIZER.encode([text])[0] for text in ("the small dog", "sees a house")]
    ids = [2, *rows[0], 3, *rows[1], 3]
    segments = [0] * (len(rows[0]) + 2) + [1] * (len(rows[1]) + 1)
    arrays = {"token_ids": ids, "segment_ids": segments}
    found = load_runtime(tmp_path / "litert")["model"](**{n: np.array([row], "int32") for n, row in arrays.items()})
    expected = classifier.probabilities([("the small dog", "sees a house")])
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_a_tagger_in_8_bits(tmp_path):
    need("tf2onnx", "onnxruntime")
    model = Tagger(TaggerConfig(**SIZES, num_layers=1, num_labels=5, character_filters=7))
    model.build()
    tagger, sentence = WordTagger(model, TOKENIZER, list("abcde")), WORDS[:6]
    facts = write_runtime(tagger, tmp_path / "onnx", "onnx", "int8")
    assert facts == json.loads((tmp_path / "onnx" / "model.json").read_text("utf-8"))
    tokens, places, _ = encode_windows([sentence], TOKENIZER, 512)
    rows = {"token_ids": tokens, "character_ids": window_characters(tokens, places, [sentence])}
    arrays = {name: row.padded(np.array([0]), int(row.lengths[0])) for name, row in rows.items()}
    found = load_runtime(tmp_path / "onnx")["model"](**arrays)["probabilities"][0, places[0]]
    difference = np.abs(found - tagger.probabilities([sentence])[0]).max()
    assert 0 < difference < 0.05 and 0 < facts["largest_difference"] < 0.05


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("embedding", ["convolutions", "patches"])
def test_a_classifier_of_images_in_litert(embedding, tmp_path):
    need("ai_edge_litert.interpreter")
    sizes = {"image_size": 8, "embedding": embedding, "num_convolutions": 2, "inner_dim": 5, "patch_size": 2}
    sizes |= {"hidden_dim": 12, "intermediate_dim": 20, "num_heads": 3, "num_layers": 1, "activation": "gelu"}
    keras.utils.set_random_seed(1)
    model = ImageClassifier(ImageClassifierConfig(**sizes, num_classes=3))
    model.build()
    classifier = ImagePredictor(model, labels=["x", "y", "z"], temperature=2.0)
    classifier.save(tmp_path / "model")
    command = ["export", "--checkpoint", str(tmp_path / "model"), "--format", "litert", "--output"]
    assert images([*command, str(tmp_path / "litert")]) == 0
    facts = json.loads((tmp_path / "litert" / "model.json").read_text("utf-8"))
    assert (facts["labels"], facts["temperature"], facts["tokenizer_files"]) == (["x", "y", "z"], 2.0, [])
    assert "to 8 rows and columns" in facts["images"]
    pictures = np.random.default_rng(0).integers(0, 256, (3, 8, 8, 3), "uint8")
    found = load_runtime(tmp_path / "litert")["model"](images=pictures)["probabilities"]
    np.testing.assert_allclose(found, classifier.probabilities([*pictures]), atol=1e-5)
    assert np.ptp(found, axis=0).max() > 1e-2  # They depend on the picture.


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_detector_in_onnx(tmp_path):
    """A picture that fills half of the columns, resized and read as `model.json` says."""
    need("tf2onnx", "onnxruntime")
    model = small_detector.make()
    labels = [*"abcdefgh"[: model.config.num_classes]]
    detector = ObjectDetector(model, labels=labels, min_score=0.0)
    detector.save(tmp_path / "model")
    command = ["export", "--checkpoint", str(tmp_path / "model"), "--format", "onnx", "--output"]
    assert detection([*command, str(tmp_path / "onnx")]) == 0
    facts = json.loads((tmp_path / "onnx" / "model.json").read_text("utf-8"))
    rows, columns = model.config.image_rows, model.config.image_columns
    assert f"{rows} rows and {columns} columns" in facts["images"] and facts["min_score"] == 0
    picture = np.random.default_rng(0).integers(0, 256, (rows, columns // 2, 3), "uint8")
    canvas = np.full((1, rows, columns, 3), 128, "uint8")
    canvas[0, :, : columns // 2] = picture
    sizes = np.array([[rows, columns // 2]], "int32")
    found = load_runtime(tmp_path / "onnx")["model"](images=canvas, sizes=sizes)
    scores = found["probabilities"][0].max(-1)
    order = np.argsort(-scores)
    (expected,) = detector.find([picture])
    np.testing.assert_allclose(scores[order], expected.scores, atol=1e-5)
    limits = np.tile(picture.shape[1::-1], 2)
    np.testing.assert_allclose(found["boxes"][0, order].clip(0, limits), expected.boxes, atol=1e-3)


@pytest.mark.parametrize("wrong", ["shape", "value", "nan"])
@pytest.mark.parametrize("quantization", [None, "int8"])
def test_a_folder_that_computes_something_else_is_not_written(wrong, quantization, tmp_path, monkeypatch):
    from zoo.tf import graph_formats

    need("tf2onnx", "onnxruntime", "onnx")
    model = Classifier(ClassifierConfig(**SIZES, num_layers=1, num_classes=2))
    model.build()
    classifier = TextClassifier(model, TOKENIZER, ["a", "b"])

    def run(token_ids):
        found = np.array(classifier.softmax(token_ids))
        found = {"shape": found[:, :1], "value": found + 2e-3, "nan": found * np.nan}[wrong]
        return {"probabilities": found}

    monkeypatch.setattr(graph_formats, "onnx_files", lambda graphs, quantization: {"model.onnx": b"x"})
    monkeypatch.setattr(to_runtimes, "load_runtime", lambda folder: {"model": run})
    if wrong == "value" and quantization:  # 8 bits are not exact.
        assert write_runtime(classifier, tmp_path / "a", "onnx", quantization)["largest_difference"] == 0.002
        return
    with pytest.raises(RuntimeError, match="The exported model differs from its model for classification"):
        write_runtime(classifier, tmp_path / "a", "onnx", quantization)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("quantization", [None, "int8"])
def test_queries_of_a_detector_in_8_bits_have_no_order(quantization, tmp_path, monkeypatch):
    from zoo.tf import graph_formats

    need("tf2onnx", "onnxruntime", "onnx")
    model = small_detector.make()
    detector = ObjectDetector(model, labels=[*"abcdefgh"[: model.config.num_classes]])

    def run(images, sizes):
        found = zip(("probabilities", "boxes"), map(np.asarray, detector.queries(images, sizes)))
        return {name: array[:, ::-1] for name, array in found}

    monkeypatch.setattr(graph_formats, "onnx_files", lambda graphs, quantization: {"model.onnx": b"x"})
    monkeypatch.setattr(to_runtimes, "load_runtime", lambda folder: {"model": run})
    if quantization:
        assert write_runtime(detector, tmp_path / "a", "onnx", quantization)["largest_difference"] == 0
    else:
        with pytest.raises(RuntimeError, match="The exported model differs"):
            write_runtime(detector, tmp_path / "a", "onnx", quantization)


@pytest.mark.parametrize("format", ["onnx", "litert"])
@pytest.mark.parametrize(
    "run, option",
    [(translation, "--beam-size 2"), (translation, "--checkpoint a b"), (translation, "--ids-only")]
    + [(classification, "--max-bytes 9"), (classification, "--dtype mixed_bfloat16")],
)
def test_options_of_saved_models_are_refused(run, option, format, tmp_path, capsys):
    assert run(["export", "--format", format, "--output", str(tmp_path / "a"), *option.split()]) == 2
    name = "several checkpoints" if "checkpoint" in option else option.split()[0]
    assert f"Received: {name}. Leave it out." in capsys.readouterr().err


def test_quantizations_of_other_formats_are_refused(tmp_path, capsys):
    command = ["export", "--output", str(tmp_path / "a"), "--quantization"]
    assert translation([*command, "float16", "--format", "onnx"]) == 2
    assert "float16 is for --format ctranslate2. Received: --format onnx." in capsys.readouterr().err
    assert classification([*command, "int8"]) == 2
    assert "int8 is for --format ctranslate2, onnx, litert" in capsys.readouterr().err
    with pytest.raises(ValueError, match="`quantization` must be one of .*Received: quantization='float16'"):
        write_runtime(tiny_translator(), tmp_path / "a", "onnx", "float16")
    with pytest.raises(ValueError, match="`format` must be one of .*Received: format='tflite'"):
        write_runtime(tiny_translator(), tmp_path / "a", "tflite")
    with pytest.raises(SystemExit, match="2"):
        parsing(["export", "--format", "onnx", "--output", str(tmp_path / "a")])


@pytest.mark.parametrize("format, module", [("onnx", "tf2onnx"), ("litert", "ai_edge_litert")])
def test_missing_packages_are_named(format, module, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, module, None)
    assert classification(["export", "--format", format, "--output", str(tmp_path / "a")]) == 2
    assert f"needs {module.replace('_', '-')}. Install it: " in capsys.readouterr().err


def test_other_models_are_refused(tmp_path):
    fixed = NonAutoregressiveConfig(**SIZES, **LAYERS)
    t5 = tiny_translator(architecture="t5", normalize_first=True)
    for predictor, received in (
        (EnsembleTranslator([tiny_translator(), tiny_translator()]), "Received: a EnsembleTranslator"),
        (NonAutoregressiveTranslator(NonAutoregressive(fixed), TOKENIZER), "Received: a NonAutoregressiveTranslator"),
        (t5, "Received: model.architecture='t5'"),
    ):
        with pytest.raises(ValueError, match=received):
            write_runtime(predictor, tmp_path / "a", "onnx")
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_greedy_translations_of_a_shipped_model_are_the_same(tmp_path):
    """50 sentences of Tatoeba's dev set, some of them in capitals, by the search of the example."""
    need("tf2onnx", "onnxruntime")
    data = os.environ.get("KERAS_TRANSFORMER_DATA")
    if not data:
        pytest.skip("KERAS_TRANSFORMER_DATA names no folder of corpora")
    translator = zoo.load("translation/en-de")
    write_runtime(translator, tmp_path / "onnx", "onnx")
    sources = (source for source, _ in open_pairs(data=pathlib.Path(data, "translation/tatoeba_eng_deu/dev.tsv")))
    single = (text for text in sources if len(split_texts([text], TOKENIZER, 10**6)[0]) == 1)
    texts = [*itertools.islice(single, 50)]
    texts += [text.upper() for text in texts[:5]] + [f"{text.rstrip('.!?')} www.example.org" for text in texts[:5]]
    assert example(tmp_path / "onnx").translate(texts) == translator.translate(texts, beam_size=1)


def test_files_of_byte_pairs_give_the_same_ids_in_the_library(tmp_path):
    need("tokenizers")
    import tokenizers

    special = {"end": 0}
    vocabulary = byte_pair_folder.make_vocabulary([byte_pair_folder.END])
    ours, _ = BytePairTokenizer.from_vocabulary(vocabulary, byte_pair_folder.MERGES, special)
    for name, content in tokenizer_files(ours).items():
        (tmp_path / name).write_bytes(content)
    theirs = tokenizers.ByteLevelBPETokenizer(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))
    for text in byte_pair_folder.TEXTS[:50]:
        assert [ours.encode([text])[0]] == [theirs.encode(text).ids]
