"""A server for tests, in a process of its own, as users start it."""

import dataclasses
import http.client
import io
import json
import os
import re
import subprocess
import sys
import types

NAMES = "translation/multi30k-en-de", "classification/sst2-small", "labelling/masc-pos-small", "parsing/genia-small"
OTHERS = "language/shakespeare", "encoder/minilm", "images/cifar10", "recognition/fsdd-digits", "detection/bccd"


@dataclasses.dataclass
class Server:
    """A running server: its port and process."""

    port: int
    process: subprocess.Popen

    def request(self, method, path, body=None, headers=None, timeout=120):
        """Returns status, headers and content of the answer to one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return types.SimpleNamespace(status=response.status, headers=response.headers, content=response.read())
        finally:
            connection.close()

    def post(self, name, headers=None, **body):
        """Returns status and value of the answer to a request of texts."""
        headers = {"content-type": "application/json", **(headers or {})}
        found = self.request("POST", f"/v1/{name}", json.dumps(body), headers)
        return found.status, json.loads(found.content)

    def results(self, name, **body):
        """Returns the results of a request of texts that succeeds."""
        status, value = self.post(name, **body)
        assert status == 200, value
        return value["results"]

    def send(self, path, content, kind="application/octet-stream"):
        """Returns status and value of the answer to a file."""
        found = self.request("POST", f"/v1/{path}", content, {"content-type": kind})
        return found.status, json.loads(found.content)


def start(*options, token=""):
    """Starts a server on a free port."""
    command = [sys.executable, "-m", "zoo", "serve", "--port", "0", *options]
    environment = {**os.environ, "KERAS_TRANSFORMER_TOKEN": token, "TF_CPP_MIN_LOG_LEVEL": "3"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    for line in process.stderr:
        if found := re.search(r"http://[^ ]*:(\d+)", line):
            return Server(int(found[1]), process)
    raise RuntimeError(f"The server ended with status {process.wait()}.")


def stop(server):
    """Ends a server; returns its status and the rest of what it logged."""
    server.process.terminate()
    _, log = server.process.communicate(timeout=90)
    return server.process.returncode, log


def drawn_image():
    """Returns the bytes of an image of a ship."""
    from PIL import Image, ImageDraw

    image, content = Image.new("RGB", (96, 96), (120, 170, 220)), io.BytesIO()
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 60, 96, 96), fill=(20, 50, 110))
    pen.polygon([(15, 50), (80, 50), (70, 68), (25, 68)], fill=(120, 60, 40))
    image.save(content, "png")
    return content.getvalue()


def drawn_cells():
    """Returns the bytes of an image of a white and a red blood cell."""
    from PIL import Image, ImageDraw, ImageFilter

    image, content = Image.new("RGB", (320, 240), (214, 205, 208)), io.BytesIO()
    pen = ImageDraw.Draw(image)
    pen.ellipse((35, 35, 85, 85), fill=(196, 140, 140), outline=(180, 120, 122))
    pen.ellipse((51, 51, 69, 69), fill=(208, 170, 170))
    pen.ellipse((123, 85, 207, 165), fill=(150, 110, 170))
    pen.ellipse((135, 99, 189, 151), fill=(90, 50, 130))
    image.filter(ImageFilter.GaussianBlur(1.2)).save(content, "png")
    return content.getvalue()


def silence():
    """Returns the bytes of a recording of half a second without sound."""
    import soundfile

    content = io.BytesIO()
    soundfile.write(content, [0.0] * 4000, 8000, format="wav")
    return content.getvalue()
