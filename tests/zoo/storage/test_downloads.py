"""Downloads from a server that interrupts connections, sends wrong content, or is unreachable."""

import functools
import hashlib
import http.client
import http.server
import pathlib
import threading
import types

import numpy as np
import pytest

from zoo.storage import checkpoints, downloads
from zoo.storage.checkpoints import CARD, WEIGHTS, Checkpoint, find, read_checkpoint, write_checkpoint

ARRAYS = {"kernel": np.random.default_rng(1).normal(size=(300, 100)).astype("float32")}


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder over HTTP with range requests."""

    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("Range")))
        if (target := self.server.redirect) and self.headers["Host"].startswith("127."):
            self.send_response(302)
            self.send_header("Location", target + self.path)
            self.end_headers()
            return
        content = pathlib.Path(self.directory, self.path.lstrip("/"))
        if not content.exists():
            self.send_error(404)
            return
        content, first = content.read_bytes(), 0
        if self.server.ranges and (wanted := self.headers.get("Range")):
            first = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if first >= len(content):
                self.send_error(416)
                return
        self.send_response(206 if first else 200)
        if self.server.lengths:
            self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        cut = self.server.cuts.pop(0) if self.path.endswith(WEIGHTS) and self.server.cuts else None
        self.wfile.write(content[first:][:cut])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_TRANSFORMER_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "served"
    write_checkpoint(folder / "task" / "name", Checkpoint({"task": "none"}, {"a": 1}, ARRAYS, b"vocabulary"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    server.seen, server.cuts, server.ranges, server.lengths, server.redirect = [], [], True, True, None
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    base = f"http://127.0.0.1:{server.server_port}"
    yield types.SimpleNamespace(
        address=f"{base}/task/name", base=base, folder=folder / "task" / "name", http=server, cache=tmp_path / "cache"
    )
    server.shutdown()
    server.server_close()
    thread.join()


def installed(server):
    return [path for path in server.cache.glob("*") if path.suffix == ""]


def assert_right(folder):
    np.testing.assert_array_equal(read_checkpoint(folder).arrays["kernel"], ARRAYS["kernel"])


def test_a_second_call_needs_no_network(server):
    folder = find(server.address)
    assert_right(folder)
    requests = len(server.http.seen)
    assert requests == 4
    server.http.shutdown()
    assert find(server.address) == folder == find(server.address + "/")
    assert len(server.http.seen) == requests


def test_unknown_names_are_downloaded_from_the_zoo_address(server, monkeypatch):
    with pytest.raises(ValueError, match="neither the name of a checkpoint"):
        find("task/name")
    monkeypatch.setenv("KERAS_TRANSFORMER_ZOO", server.base)
    assert_right(find("task/name"))
    with pytest.raises(ValueError, match="task/absent/card.json cannot be downloaded: HTTP 404"):
        find("task/absent")


def test_a_server_need_not_state_lengths(server):
    server.http.lengths = False
    assert_right(find(server.address))


def test_file_addresses(server):
    assert_right(find(f"file://{server.folder}"))


@pytest.mark.parametrize("ranges", [True, False])
def test_an_interrupted_download_resumes_or_restarts(server, ranges):
    server.http.ranges, server.http.cuts = ranges, [1000, 50_000]
    assert_right(find(server.address))
    wanted = [span for path, span in server.http.seen if path.endswith(WEIGHTS)]
    assert wanted == [None, "bytes=1000-", "bytes=51000-" if ranges else "bytes=50000-"]


def test_a_failed_download_installs_nothing_and_resumes_later(server):
    server.http.cuts = [1000, 1000, 1000]
    with pytest.raises(
        ValueError, match="the server stopped after 1,000 of .* Complete files are kept for the next attempt"
    ):
        find(server.address)
    assert installed(server) == []
    before = len(server.http.seen)
    assert_right(find(server.address))
    later = server.http.seen[before:]
    assert [span for path, span in later if path.endswith(WEIGHTS)] == ["bytes=3000-"]
    assert not any(path.endswith("config.json") for path, _ in later), "what was whole is not fetched again"


def test_a_file_with_another_hash_is_refused(server):
    weights = server.folder / WEIGHTS
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + b"x")
    with pytest.raises(ValueError, match="cannot be downloaded: its SHA-256 is .* instead of"):
        find(server.address)
    assert installed(server) == []
    weights.write_bytes(content)
    assert_right(find(server.address))


def test_a_card_can_be_pinned(server):
    digest = hashlib.sha256((server.folder / CARD).read_bytes()).hexdigest()
    with pytest.raises(ValueError, match="its SHA-256 is"):
        find(f"{server.address}#sha256={'0' * 64}")
    assert_right(find(f"{server.address}#sha256={digest}"))
    with pytest.raises(ValueError, match="must have the SHA-256 0000"):
        find(f"{server.address}#sha256={'0' * 64}")


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "extra"])
def test_a_card_names_three_files_and_no_others(server, name):
    card = checkpoints.read_card(server.folder)
    card["files"][name] = card["files"][WEIGHTS]
    checkpoints.write_card(server.folder, card)
    with pytest.raises(ValueError, match="must name config.json, model.safetensors and vocabulary.model. Received: .*"):
        find(server.address)
    assert not any(name in path for path, _ in server.http.seen) and installed(server) == []


@pytest.mark.parametrize("address", ["https://a/b#md5=1", "https://a/b#sha256=12"])
def test_other_addresses_are_refused(server, address):
    with pytest.raises(ValueError, match="An address must begin with https://, http://, file://"):
        find(address)


def test_addresses_of_unknown_kinds_are_refused():
    pytest.importorskip("fsspec")
    with pytest.raises(ValueError, match="nothing://a/b cannot be read: Protocol not known"):
        find("nothing://a/b")


def test_an_unreachable_server_is_named(server, monkeypatch):
    monkeypatch.setattr(downloads, "_ATTEMPTS", 1)
    with pytest.raises(ValueError, match="http://127.0.0.1:9/x/card.json cannot be downloaded: .*refused"):
        find("http://127.0.0.1:9/x")


def test_a_redirect_to_another_host_is_told(server):
    server.http.redirect = server.base.replace("127.0.0.1", "localhost")
    told = r"127.0.0.1 redirects to localhost: http://127.0.0.1:\d+/task/name/card.json is downloaded from .*#sha256="
    with pytest.warns(UserWarning, match=told) as found:
        folder = find(server.address)
    assert len(found) == 1, "one for all files"
    assert_right(folder)
    assert find(server.address) == folder, "from the cache without a warning"


def test_a_redirect_to_another_host_is_followed_if_the_card_is_pinned(server):
    """Warnings are errors in the tests."""
    digest = hashlib.sha256((server.folder / CARD).read_bytes()).hexdigest()
    server.http.redirect = server.base.replace("127.0.0.1", "localhost")
    assert_right(find(f"{server.address}#sha256={digest}"))


@pytest.mark.parametrize("pinned", [False, True])
def test_a_redirect_from_https_to_http_is_refused(server, monkeypatch, pinned):
    """The connection is plain, as if it were the encrypted one."""
    monkeypatch.setattr(http.client.HTTPSConnection, "connect", http.client.HTTPConnection.connect)
    fragment = f"#sha256={hashlib.sha256((server.folder / CARD).read_bytes()).hexdigest()}" if pinned else ""
    server.http.redirect = server.base.replace("127.0.0.1", "localhost")
    with pytest.raises(
        ValueError, match="card.json cannot be downloaded: a redirect must lead to https://.*'http://loc"
    ):
        find(server.address.replace("http://", "https://") + fragment)
    assert installed(server) == [] and len(server.http.seen) == 1
    server.http.redirect = None
    assert_right(find(server.address.replace("http://", "https://")))


def test_a_redirect_to_another_protocol_is_refused(server):
    server.http.redirect = "ftp://localhost"
    with pytest.raises(ValueError, match="or stay at http://. Received: 'ftp://localhost/task/name/card.json'"):
        find(server.address)


def test_a_read_only_cache_is_read(server, monkeypatch):
    """Its lock cannot be taken, as in a container whose image has the checkpoint."""
    folder = find(server.address)

    def denied(path, wait):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(downloads, "file_lock", denied)
    assert find(server.address) == folder
    with pytest.raises(
        ValueError, match="cache cannot be written to: .*Permission denied.*Set KERAS_TRANSFORMER_CACHE"
    ):
        find(f"{server.base}/task/other")


def test_concurrent_calls_download_once(server):
    found = []
    threads = [threading.Thread(target=lambda: found.append(find(server.address))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1 and len(found) == 4
    assert len([path for path, _ in server.http.seen if path.endswith(WEIGHTS)]) == 1
    assert checkpoints.read_card(found[0])["task"] == "none"
