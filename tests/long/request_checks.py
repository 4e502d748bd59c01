"""Sends thousands of requests to a server, one in a hundred of them hostile: all others get their answers.

python tests/long/request_checks.py --requests 10000
"""

import argparse
import collections
import http.client
import json
import pathlib
import random
import re
import socket
import sys
import threading
import time

from hostile_checks import texts

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "benchmarks"))
from web import alike, resident
from web_server import start

MODEL = "classification/sst2-small"
PATH = "/v1/classify"
JSON = {"content-type": "application/json"}
SENTENCES = [
    f"The {noun} is {adjective}, and the {other} is {verb}."
    for noun in ("plot", "film", "music", "cast", "ending")
    for adjective in ("thin", "superb", "dull", "warm")
    for other in ("acting", "camera", "story", "humour", "pace")
    for verb in ("great", "tired")
]


def bodies() -> dict[str, bytes]:
    """Returns hostile contents by name."""
    whole = json.dumps({"model": MODEL, "texts": ["good"]}).encode()
    return {
        "no JSON": b"\x00\xff\xfe{",
        "half of it": whole[: len(whole) // 2],
        "deep": b"[" * 50_000,
        "a long number": b'{"model": ' + b"9" * 50_000 + b"}",
        "another model": json.dumps({"model": "../../etc/passwd", "texts": ["a"]}).encode(),
        "wrong types": json.dumps({"model": MODEL, "texts": {"a": [1]}}).encode(),
        "numbers": json.dumps({"model": MODEL, "texts": [1, None, True]}).encode(),
        "no texts": json.dumps({"model": MODEL, "texts": []}).encode(),
        "too many texts": json.dumps({"model": MODEL, "texts": ["a"] * 100_000}).encode(),
        "a long text": json.dumps({"model": MODEL, "texts": ["a" * 5_000_000]}).encode(),
        "unknown fields": json.dumps({"model": MODEL, "texts": ["a"], "eval": "1"}).encode(),
        "infinite": b'{"model": "' + MODEL.encode() + b'", "texts": [NaN, Infinity]}',
        "surrogates": json.dumps({"model": MODEL, "texts": ["\ud800"]}).encode(),
    }


def raw(port: int) -> dict[str, bytes]:
    """Returns hostile requests by name, as bytes of a connection."""
    host = f"Host: 127.0.0.1:{port}\r\n".encode()
    return {
        "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00",
        "an endless header": b"GET / HTTP/1.1\r\n" + host + b"x: " + b"a" * 300_000,
        "many headers": b"GET / HTTP/1.1\r\n" + host + b"".join(b"h%d: 1\r\n" % i for i in range(5000)) + b"\r\n",
        "a path outside": b"GET /static/../../../../etc/passwd HTTP/1.1\r\n" + host + b"\r\n",
        "another host": b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "two lengths": b"POST /v1/classify HTTP/1.1\r\n"
        + host
        + b"Content-Length: 5\r\nContent-Length: 9\r\n\r\nhello",
        "a negative length": b"POST /v1/classify HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n",
        "less than its length": b"POST /v1/classify HTTP/1.1\r\n" + host + b"Content-Length: 500\r\n\r\n{",
        "broken chunks": b"POST /v1/classify HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    }


class Client(threading.Thread):
    """Sends requests, and counts their outcomes.

    Args:
        port: Port of the server.
        numbers: Numbers of the requests; every hundredth is hostile.
        answers: Answers by sentence.
    """

    def __init__(self, port, numbers, answers):
        super().__init__()
        self._port, self._numbers, self._answers = port, numbers, answers
        self.outcomes, self.failures = collections.Counter(), []

    def run(self):
        kinds = [*bodies().items()], [(text, None) for text in texts(200, 20_000)], [*raw(self._port).items()]
        for number in self._numbers:
            if number % 100 == 0:
                turn, kind = divmod(number // 100, len(kinds))
                self._attack(*kinds[kind][turn % len(kinds[kind])])
            else:
                self._ask(random.Random(number).choice(SENTENCES))

    def _ask(self, sentence):
        status, value = post(self._port, json.dumps({"model": MODEL, "texts": [sentence]}).encode())
        if status == 200 and alike(value["results"], self._answers[sentence]):
            self.outcomes["answered"] += 1
        else:
            self.failures.append(f"{sentence!r}: {status} {value}")

    def _attack(self, name, content):
        if name in raw(self._port):
            status = send(self._port, content)
        else:
            content = content or json.dumps({"model": MODEL, "texts": [name]}).encode()
            status, _ = post(self._port, content)
        self.outcomes[f"hostile: {status}"] += 1
        if status == 500:
            self.failures.append(f"{name[:40]!r}: {status}")


def post(port: int, content: bytes) -> tuple[int | str, object]:
    """Returns status and value of the answer to a request; the status is "closed" if there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("POST", PATH, content, JSON)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        return "closed", repr(error)
    finally:
        connection.close()


def send(port: int, content: bytes) -> int | str:
    """Sends bytes, waits for two seconds at most; returns the status of the answer, or "closed"."""
    with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
        try:
            connection.sendall(content)
            found = re.match(rb"HTTP/1.1 (\d+)", connection.recv(100))
            return int(found[1]) if found else "closed"
        except OSError:
            return "closed"


def check(requests: int, clients: int = 8, log=print) -> None:
    """Raises `AssertionError` if a request that is not hostile gets another answer, or the server ends or grows."""
    server = start(MODEL)
    try:
        answers = {sentence: server.results("classify", model=MODEL, texts=[sentence])[:] for sentence in SENTENCES}
        before, begun = resident(server.process), time.monotonic()
        workers = [Client(server.port, range(first, requests, clients), answers) for first in range(clients)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        seconds, after = time.monotonic() - begun, resident(server.process)
        alive = server.request("GET", "/").status == 200 and server.process.poll() is None
    finally:
        server.process.terminate()
        server.process.communicate(timeout=60)
    outcomes = sum((worker.outcomes for worker in workers), collections.Counter())
    failures = [failure for worker in workers for failure in worker.failures]
    log(f"{requests:,} requests in {seconds:.0f} s: " + ", ".join(f"{k} {v:,}" for k, v in sorted(outcomes.items())))
    log(f"failed: {len(failures)}; memory {before:.0f} MB before, {after:.0f} MB after; alive: {alive}")
    assert not failures, failures[:10]
    assert alive and outcomes["answered"] == requests - len(range(0, requests, 100))
    assert after < before + 200


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    check(options.requests, options.clients)


if __name__ == "__main__":
    main()
