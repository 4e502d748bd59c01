"""A corpus in an S3 bucket is prepared into the bucket and read from there, as from a folder."""

import numpy as np
import pytest

pytest.importorskip("apache_beam")
pytest.importorskip("moto")
pytest.importorskip("s3fs")

from object_store import object_store

from zoo.corpora.prepared_corpus import PreparedCorpus
from zoo.preparation.inputs import open_inputs
from zoo.preparation.pipeline import make_options, prepare
from zoo.text.tokenizer_training import train_tokenizer

PAIRS = [(f"number {i} of one", f"Nummer {i} von eins") for i in range(200)]
TOKENIZER = train_tokenizer([text for pair in PAIRS for text in pair], 300)


@pytest.fixture(scope="module")  # Beam and s3fs keep a client for an address.
def bucket(tmp_path_factory):
    """Starts a server of S3 on this machine; returns a client, for a bucket named "corpora"."""
    with pytest.MonkeyPatch.context() as context, object_store() as client:
        context.setenv("KERAS_TRANSFORMER_CACHE", str(tmp_path_factory.mktemp("cache")))
        make_options()
        client.create_bucket(Bucket="corpora")
        yield client


@pytest.mark.slow
def test_a_bucket_is_read_and_written(bucket, tmp_path):
    for name, side in (("a.en", 0), ("a.de", 1)):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS))
        bucket.put_object(Bucket="corpora", Key=f"text/{name}", Body=(tmp_path / name).read_bytes())
    here = open_inputs(str(tmp_path / "a.en"), str(tmp_path / "a.de"))
    prepare(here, TOKENIZER, tmp_path / "here", num_shards=3)
    there = open_inputs("s3://corpora/text/*.en", "s3://corpora/text/*.de")
    report = prepare(there, TOKENIZER, "s3://corpora/prepared", num_shards=3)
    assert report.examples == len(PAIRS)
    names = [item["Key"] for item in bucket.list_objects_v2(Bucket="corpora", Prefix="prepared/")["Contents"]]
    files = {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir() if path.name != "lock"}
    assert {name.removeprefix("prepared/") for name in names} == files.keys()
    for name, content in files.items():
        assert bucket.get_object(Bucket="corpora", Key=f"prepared/{name}")["Body"].read() == content, name
    corpus, other = (PreparedCorpus.open(folder) for folder in ("s3://corpora/prepared", tmp_path / "here"))
    rows = np.random.default_rng(0).permutation(len(PAIRS))
    widths = [int(lengths.max()) for lengths in other.lengths()]
    np.testing.assert_equal(corpus.gather(rows, widths, 0), other.gather(rows, widths, 0))
    with pytest.raises(ValueError, match="holds a prepared corpus"):
        prepare(there, TOKENIZER, "s3://corpora/prepared", num_shards=3)


def test_what_cannot_be_reached_is_told(bucket):
    with pytest.raises(FileNotFoundError, match=r"s3://corpora/none\.en, which does not exist"):
        open_inputs("s3://corpora/none.en", "s3://corpora/none.de")
    with pytest.raises(ValueError, match="no complete prepared corpus"):
        PreparedCorpus.open("s3://corpora/none")
