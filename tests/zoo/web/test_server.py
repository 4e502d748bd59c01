"""Answers of the server are those of the library; requests that ask for too much are refused, and nothing else is."""

import concurrent.futures
import json
import socket
import time

import numpy as np
import pytest
import web_server

import zoo

TRANSLATOR, CLASSIFIER = "translation/multi30k-en-de", "classification/sst2-small"
SENTENCE = "A man rides a bicycle."


def test_translations_are_those_of_the_library(server):
    texts = [SENTENCE, "", "Two dogs run. A cat sleeps."]
    found = server.results("translate", model=TRANSLATOR, texts=texts, num_return=3)
    expected = zoo.load(TRANSLATOR).n_best(texts, 3)
    assert [[each["text"] for each in row] for row in found] == [[each.text for each in row] for row in expected]
    for row, others in zip(found, expected):
        np.testing.assert_allclose([each["score"] for each in row], [each.score for each in others], atol=1e-4)


def test_requests_that_are_joined_get_their_own_answers(server):
    """Of 30 requests at once, many are computed together; one that fails takes no other with it."""
    classifier = zoo.load(CLASSIFIER)
    texts = [f"A {word} film, number {i}." for i in range(15) for word in ("good", "dull")]
    before = counts(server)
    with concurrent.futures.ThreadPoolExecutor(32) as threads:
        wrong = threads.submit(server.post, "classify", model=CLASSIFIER, texts=[["a", "pair"]])
        found = [*threads.map(lambda text: server.results("classify", model=CLASSIFIER, texts=[text])[0], texts)]
        assert wrong.result()[0] == 422
    for row, expected in zip(found, classifier.probabilities(texts)):
        assert [each["label"] for each in row] == [classifier.labels[i] for i in np.argsort(-expected)]
        np.testing.assert_allclose([each["probability"] for each in row], sorted(expected)[::-1], atol=1e-4)
    new = {name: count - before.get(name, 0) for name, count in counts(server).items()}
    assert new['zoo_requests_total{path="/v1/classify",status="200"}'] == 30
    assert new["zoo_batch_inputs_count"] < new["zoo_batch_inputs_sum"], "some were joined"


def counts(server):
    page = server.request("GET", "/metrics").content.decode()
    return {line.split()[0]: float(line.split()[1]) for line in page.splitlines() if line.startswith("zoo_")}


@pytest.mark.slow
def test_other_tasks(server):
    (tagged,) = server.results("tag", model="labelling/masc-pos-small", texts=["The dogs are here."])
    assert tagged["words"] == ["The", "dogs", "are", "here", "."] and len(tagged["labels"]) == 5
    (parsed,) = server.results("parse", model="parsing/genia-small", texts=["The protein binds DNA."])
    assert parsed["tree"].startswith("(TOP") and parsed["nested"][0] == "TOP"
    options = {"max_tokens": 20, "seed": 3, "temperature": 0.5}
    (text,) = server.results("generate", model="language/shakespeare", texts=["ROMEO:"], **options)
    assert [text] == zoo.load("language/shakespeare").generate(["ROMEO:"], **options)
    vectors = server.results("embed", model="encoder/minilm", texts=["a", "b"])
    np.testing.assert_allclose(vectors, zoo.load("encoder/minilm").embed(["a", "b"]), atol=1e-4)


def test_files(server):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    pytest.importorskip("soundfile", reason="soundfile is not installed")
    image = web_server.drawn_image()
    status, found = server.send("classify-image?model=images/cifar10&attention=true", image)
    predictor = zoo.load("images/cifar10")
    expected, size = predictor.classify([image])[0], predictor.model.config.grid_size
    best = found["results"][0]["classes"][0]
    assert (status, best["label"]) == (200, expected[0]) and abs(best["probability"] - expected[1]) < 1e-4
    assert np.shape(found["results"][0]["attention"]) == (size, size)
    status, found = server.send("transcribe?model=recognition/fsdd-digits", web_server.silence())
    assert (status, found["results"]) == (200, [""])
    for path in ("classify-image?model=images/cifar10", "transcribe?model=recognition/fsdd-digits"):
        status, found = server.send(path, b"no file")
        assert status == 422 and "/" not in found["error"]["message"], "no path of the server"


def test_size_is_limited_by_address(server):
    """Whatever a request says of its content: curl says of files that they are forms."""
    pytest.importorskip("PIL", reason="Pillow is not installed")
    image = web_server.drawn_image() + bytes(300_000)  # PNG ends where it says.
    status, _ = server.send("classify-image?model=images/cifar10", image, "application/x-www-form-urlencoded")
    assert status == 200
    assert server.send("translate", b"[" * 300_000, "application/octet-stream")[0] == 413


def test_models_and_description(server):
    models = json.loads(server.request("GET", "/v1/models").content)["models"]
    assert {"name": TRANSLATOR, "actions": ["translate", "attention", "search"]}.items() <= models[0].items()
    paths = json.loads(server.request("GET", "/openapi.json").content)["paths"]
    assert {"/v1/translate", "/v1/transcribe", "/health", "/metrics"} <= {*paths}
    assert server.request("GET", "/health").status == 200


BODIES = {
    "unknown model": ("translate", {"model": "a/b", "texts": ["a"]}, 404),
    "a path as a model": ("translate", {"model": "../../etc", "texts": ["a"]}, 404),
    "another task": ("translate", {"model": CLASSIFIER, "texts": ["a"]}, 422),
    "no texts": ("translate", {"model": TRANSLATOR, "texts": []}, 422),
    "too many texts": ("translate", {"model": TRANSLATOR, "texts": ["a"] * 257}, 422),
    "a number": ("translate", {"model": TRANSLATOR, "texts": [1]}, 422),
    "unknown option": ("translate", {"model": TRANSLATOR, "texts": ["a"], "beams": 3}, 422),
    "a beam that is too wide": ("translate", {"model": TRANSLATOR, "texts": ["a"], "beam_size": 10**9}, 422),
    "fewer beams than results": (
        "translate",
        {"model": TRANSLATOR, "texts": ["a"], "beam_size": 1, "num_return": 4},
        422,
    ),
    "a layer that is not there": ("attention", {"model": TRANSLATOR, "text": SENTENCE, "layer": 40}, 422),
    "attention of nothing": ("attention", {"model": TRANSLATOR, "text": "  "}, 422),
    "a search for nothing": ("search", {"model": TRANSLATOR, "text": "\n"}, 422),
    "no words": ("tag", {"model": "labelling/masc-pos-small", "texts": [[""]]}, 422),
    "too large": ("translate", {"model": TRANSLATOR, "texts": ["a" * 10_000_000]}, 413),
}


@pytest.mark.parametrize("name", BODIES)
def test_bad_requests(server, name):
    action, body, expected = BODIES[name]
    status, found = server.post(action, **body)
    assert status == expected == found["error"]["status"] and 10 < len(found["error"]["message"]) < 1100
    assert server.request("GET", "/health").status == 200


RAW = {
    "binary": ("POST", "/v1/translate", bytes(range(256)) * 9, {"content-type": "application/json"}, 422),
    "no JSON": ("POST", "/v1/translate", b"{", {"content-type": "application/json"}, 422),
    "deep JSON": ("POST", "/v1/translate", b"[" * 50_000, {"content-type": "application/json"}, 400),
    "broken UTF-16": ("POST", "/v1/translate", b'{"model": "\\ud800", "texts": ["\\udc00"]}', {}, 422),
    "no body": ("POST", "/v1/translate", None, {}, 422),
    "a path out of the folder": ("GET", "/static/../app.py", None, {}, 404),
    "an encoded path": ("GET", "/static/%2e%2e/app.py", None, {}, 404),
    "an absolute path": ("GET", "/static//etc/passwd", None, {}, 404),
    "unknown": ("GET", "/v2", None, {}, 404),
    "another method": ("DELETE", "/v1/models", None, {}, 405),
    "another host": ("GET", "/v1/models", None, {"host": "evil.example"}, 421),
    "another origin": ("POST", "/v1/translate", b"{}", {"origin": "https://evil.example"}, 403),
    "an origin without a name": ("POST", "/v1/translate", b"{}", {"origin": "null"}, 403),
}


@pytest.mark.parametrize("name", RAW)
def test_hostile_requests(server, name):
    method, path, body, headers, expected = RAW[name]
    found = server.request(method, path, body, headers)
    assert found.status == expected and json.loads(found.content)["error"]["status"] == expected
    assert found.headers["x-content-type-options"] == "nosniff"
    assert server.request("GET", "/health").status == 200


def test_a_thousand_requests_at_once(server):
    """All are answered: by results, or by the status that says to come again."""
    server.results("classify", model=CLASSIFIER, texts=["warm"])
    with concurrent.futures.ThreadPoolExecutor(200) as threads:
        body = {"model": CLASSIFIER, "texts": ["A film."]}
        found = [*threads.map(lambda _: server.post("classify", **body)[0], range(1000))]
    assert {*found} <= {200, 429} and found.count(200) >= 64
    assert server.request("GET", "/health").status == 200


@pytest.mark.slow
@pytest.mark.long
def test_limits_of_time_and_a_token():
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    token = "0123456789abcdef"
    server = web_server.start(TRANSLATOR, "--max-seconds", "4", "--max-requests", "2", token=token)
    try:
        assert server.request("GET", "/health").status == server.request("GET", "/").status == 200
        assert server.request("GET", "/v1/models").status == server.request("GET", "/metrics").status == 401
        assert server.post("translate", {"authorization": f"Bearer {token}x"}, model="x", texts=["a"])[0] == 401
        head = {"authorization": f"Bearer {token}"}
        assert server.post("translate", head, model="x", texts=["a"])[0] == 404
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as slow:
            lines = "POST /v1/translate HTTP/1.1", "host: localhost", f"authorization: Bearer {token}"
            slow.sendall(("\r\n".join([*lines, "content-length: 100", "", "{"])).encode())
            assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
        with concurrent.futures.ThreadPoolExecutor(9) as threads:
            body = {"model": TRANSLATOR, "texts": [f"{SENTENCE} " * 500] * 7}
            found = sorted(threads.map(lambda _: server.post("translate", head, **body)[0], range(9)))
        assert found == [408] * 2 + [429] * 7
        deadline = time.monotonic() + 60
        while server.post("translate", head, model=TRANSLATOR, texts=["A dog."])[0] != 200:
            assert time.monotonic() < deadline, "what nobody waits for is given up"
    finally:
        status, log = web_server.stop(server)
    assert status == 0 and "Traceback" not in log


def test_others_need_a_token(capsys):
    from zoo.__main__ import main

    pytest.importorskip("fastapi", reason="fastapi is not installed")
    assert main(["serve", "--host", "0.0.0.0"]) == 2 and "needs a token" in capsys.readouterr().err
    assert main(["serve", "no/model"]) == 2 and "no/model" in capsys.readouterr().err
    for limit in ("--max-bytes=0", "--max-seconds=inf"):
        assert main(["serve", limit]) == 2 and "must be positive" in capsys.readouterr().err


def test_the_current_requests_are_answered_at_the_end():
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    server = web_server.start(CLASSIFIER)
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        answer = thread.submit(server.results, "classify", model=CLASSIFIER, texts=["A film."])
        while b"zoo_batch_inputs_sum 1.0" not in server.request("GET", "/metrics").content:
            time.sleep(0.01)
        status, log = web_server.stop(server)
        assert answer.result() and status == 0 and "ended" in log
