"""Folders that transformers loads: they hold the published arrays again, and say the same when read back."""

import json

import marian_folder as marian
import numpy as np
import pytest
import safetensors.numpy
import t5_folder as t5

import zoo
from zoo.__main__ import main
from zoo.config import EncoderConfig, ModelConfig
from zoo.conversion.from_marian import load_marian
from zoo.conversion.from_t5 import load_t5
from zoo.conversion.to_hugging_face import write_hugging_face
from zoo.models.encoder_model import EncoderModel
from zoo.models.seq2seq import Seq2Seq
from zoo.serving.sentence_encoder import SentenceEncoder
from zoo.text.t5_tokenizer import T5Tokenizer
from zoo.text.tokenizer_training import train_tokenizer
from zoo.text.word_pieces import WordPieceTokenizer
from zoo.translation.predictor import Translator

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh", "##b"]
SIZES = {"hidden_dim": 8, "intermediate_dim": 12, "num_heads": 2}


def make_encoder(seed=3, tokenizer=None, **config):
    tokenizer = tokenizer or WordPieceTokenizer(PIECES, lowercase=False)
    values = {"max_positions": 9, "num_segments": 2, "bert_embeddings": True, "activation": "gelu", **SIZES, **config}
    config = EncoderConfig(vocabulary_size=tokenizer.vocabulary_size, num_layers=2, epsilon=1e-3, **values)
    model = EncoderModel(config)
    model.build()
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        weight.assign(rng.normal(0, 0.5, weight.shape))
    return SentenceEncoder(model, tokenizer, 9)


def make_translator(**options):
    texts = [*marian.SOURCES, *marian.TARGETS]
    tokenizer = train_tokenizer(texts, 320, case_markup=options.pop("case_markup", False))
    config = ModelConfig(tokenizer.vocabulary_size, num_encoder_layers=2, num_decoder_layers=1, **SIZES, **options)
    model = Seq2Seq(config)
    model.build()
    rng = np.random.default_rng(5)
    for weight in model.weights:
        weight.assign(rng.normal(0, 0.5, weight.shape))
    return Translator(model, tokenizer)


@pytest.mark.parametrize("segments", [2, 0])
def test_encoders_are_the_same_when_read_back(tmp_path, segments):
    encoder = make_encoder(num_segments=segments)
    write_hugging_face(encoder, tmp_path / "a")
    loaded = zoo.load(tmp_path / "a")
    texts = ["a bb A c", "hg", ""]
    np.testing.assert_allclose(loaded.embed(texts), encoder.embed(texts), atol=1e-6)
    assert loaded.tokenizer.encode(texts) == encoder.tokenizer.encode(texts)
    with pytest.raises(ValueError, match="exists already"):
        write_hugging_face(encoder, tmp_path / "a")


def test_marian_models_have_their_arrays_again(tmp_path):
    """Except the row of the padding, which is not used, and the order of the vocabulary."""
    vocabulary, arrays = marian.write_marian(tmp_path / "a")
    assert main(["convert", str(tmp_path / "a"), "--output", str(tmp_path / "b")]) == 0
    assert main(["convert", str(tmp_path / "b"), "--format", "huggingface", "--output", str(tmp_path / "c")]) == 0
    found = safetensors.numpy.load_file(tmp_path / "c" / "model.safetensors")
    pieces = json.loads((tmp_path / "c" / "vocab.json").read_text())
    assert pieces.keys() == vocabulary.keys() and found.keys() == arrays.keys()
    rows, old = ([*map(table.get, vocabulary)] for table in (pieces, vocabulary))
    for name, array in arrays.items():
        if name == "model.shared.weight":
            np.testing.assert_array_equal(found[name][rows], array[old])
        elif name == "final_logits_bias":
            np.testing.assert_array_equal(found[name][0, rows][:-1], array[0, old][:-1])
        else:
            np.testing.assert_array_equal(found[name], array)
    for name in ("source.spm", "target.spm"):
        assert (tmp_path / "c" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()


@pytest.mark.parametrize("activation", ["relu", "swish"])
def test_translators_of_this_package_are_the_same_when_read_back(tmp_path, activation):
    """Also with characters that the vocabulary has as bytes only."""
    translator = make_translator(activation=activation, epsilon=1e-5)
    write_hugging_face(translator, tmp_path / "a")
    loaded = load_marian(tmp_path / "a")
    texts = ["The dog sees 7 times.", "漢字 é 😀", ""]
    ids, found = translator.tokenizer.encode(texts), loaded.tokenizer.encode(texts)
    assert [[loaded.tokenizer.pieces[i] for i in row] for row in found] == [
        [translator.tokenizer.pieces[i] for i in row] for row in ids
    ]
    assert loaded.tokenizer.decode(found) == texts
    assert loaded.translate(texts, beam_size=2) == translator.translate(texts, beam_size=2, length_penalty=1.0)


@pytest.mark.parametrize("gated", [False, True])
def test_t5_models_have_their_arrays_again(tmp_path, gated):
    """Except the rows that no piece has."""
    arrays = t5.write_t5(tmp_path / "a", gated)
    loaded = load_t5(tmp_path / "a")
    write_hugging_face(loaded, tmp_path / "b")
    found = safetensors.numpy.load_file(tmp_path / "b" / "model.safetensors")
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        array = array[: -t5.UNUSED_ROWS] if len(array) == t5.ROWS else array
        np.testing.assert_allclose(found[name], array, rtol=1e-6)
    assert (tmp_path / "b" / "spiece.model").read_bytes() == t5.MODEL
    again = load_t5(tmp_path / "b")
    assert again.model.config == loaded.model.config and again.tokenizer.digest == loaded.tokenizer.digest
    assert again.beam_size == loaded.beam_size


def test_the_start_of_a_trained_t5_is_its_padding(tmp_path):
    t5.write_t5(tmp_path / "a")
    loaded = load_t5(tmp_path / "a")
    table = np.asarray(loaded.model.embedding.embeddings)
    loaded.model.embedding.embeddings.assign(np.concatenate([table[:2], table[2:3] + 1, table[3:]]))
    write_hugging_face(loaded, tmp_path / "b")
    again = load_t5(tmp_path / "b")
    inputs = {"source": np.array([[5, 6, 7, 3]]), "target": np.array([[2, 8, 9]])}
    expected, found = (np.asarray(translator.model(inputs))[..., 3:] for translator in (loaded, again))
    np.testing.assert_allclose(found, expected, atol=1e-4)


def make_t5(placeholders=False, **config):
    tokenizer = T5Tokenizer(t5.MODEL)
    config = {"architecture": "t5", "normalize_first": True, **SIZES, **config}
    return Translator(Seq2Seq(ModelConfig(len(tokenizer.pieces), **config)), tokenizer, placeholders=placeholders)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_translator(normalize_first=True), "as a Marian model: Marian's are post-norm"),
        (lambda: make_translator(case_markup=True), "marks words in capitals"),
        (lambda: make_translator(normalize_first=True, architecture="t5"), "as a T5: its vocabulary is not that of"),
        (lambda: make_t5(placeholders=True), "it reads placeholders"),
        (lambda: make_t5(output_bias=True), "its logits have biases"),
        (lambda: make_t5(architecture="t5.1.1"), "its activation is relu, not gelu_tanh"),
        (lambda: make_encoder(bert_embeddings=False), "as a BERT: its embeddings"),
        (lambda: make_encoder(normalize_first=True), "it is pre-norm"),
        (lambda: make_encoder(max_positions=0), "its positions are not learned"),
        (lambda: make_encoder(tokenizer=train_tokenizer(marian.SOURCES, 300)), "not of word pieces"),
    ],
)
def test_models_without_a_counterpart_are_refused(tmp_path, make, message):
    with pytest.raises(ValueError, match=message):
        write_hugging_face(make(), tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_options_that_do_not_fit(tmp_path, capsys):
    arguments = ["convert", "encoder/minilm", "--format", "huggingface", "--output", str(tmp_path / "a")]
    assert main([*arguments, "--dtype", "int8"]) == 2
    assert "are for checkpoints" in capsys.readouterr().err
