"""An object store for the tests of runs in buckets."""

import pytest
from object_store import keys, object_store, on_machine

from zoo.storage import mirrors


@pytest.fixture(scope="module")  # s3fs keeps a client for an address.
def server():
    pytest.importorskip("moto")
    pytest.importorskip("s3fs")
    with object_store() as client:
        yield client


@pytest.fixture
def bucket(server, tmp_path, monkeypatch):
    """An empty bucket "runs", and a machine without a cache; returns a client."""
    server.create_bucket(Bucket="runs")
    on_machine(tmp_path / "first", monkeypatch)
    monkeypatch.setattr(mirrors, "PAUSE", 0.0)
    yield server
    for key in keys(server):
        server.delete_object(Bucket="runs", Key=key)
