"""A server of S3 on this machine, for the tests of object stores."""

import contextlib

import pytest

from zoo.storage import mirrors


@contextlib.contextmanager
def object_store():
    """Starts a server, which is the object store of this process until the end; yields a client of boto3."""
    import boto3
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    own = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    with pytest.MonkeyPatch.context() as context:
        for name, value in {**own, "AWS_DEFAULT_REGION": "us-east-1"}.items():
            context.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()  # s3fs keeps the clients of an earlier server.
        yield boto3.client("s3")
    server.stop()
    s3fs.S3FileSystem.clear_instance_cache()


def keys(client):
    """Returns the keys of the objects in the bucket "runs"."""
    return [item["Key"] for item in client.list_objects_v2(Bucket="runs").get("Contents", [])]


def damage(client, key):
    """Changes a bit of an object in the bucket "runs"."""
    content = client.get_object(Bucket="runs", Key=key)["Body"].read()
    client.put_object(Bucket="runs", Key=key, Body=content[:-1] + bytes([content[-1] ^ 1]))


def on_machine(cache, monkeypatch):
    """Goes on as a process on a machine with this cache."""
    monkeypatch.setenv("KERAS_TRANSFORMER_CACHE", str(cache))
    monkeypatch.setattr(mirrors, "_active", {})


def write(folder, **files):
    for name, text in files.items():
        (folder / name).write_text(text)


def read(folder):
    names = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.name: path.read_text() for path in names}
