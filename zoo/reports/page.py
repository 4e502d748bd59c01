"""A page of HTML in one file, which loads nothing from elsewhere."""

import base64
import html
import io
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from zoo.storage.arrays import write_atomically
from zoo.text.terminal import escape_control_characters

_LONGEST = 2_000  # Characters of a text.
_WIDEST, _FEW_PIXELS = 400, 64
_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; white-space: pre-wrap; } td.number { text-align: right; white-space: nowrap; }
figure { margin: 1.5rem 0; } figcaption { opacity: .8; }
figure img { max-width: 100%; height: auto; background: white; border-radius: 4px; }
td img { max-width: 20rem; height: auto; image-rendering: auto; }
pre { background: var(--soft); padding: .8rem; overflow-x: auto; white-space: pre-wrap; }
"""


class Page:
    """Collects headings, tables and pictures.

    All texts are escaped: what a corpus contains cannot become a part of the page.

    Args:
        title: The title.
    """

    def __init__(self, title: str):
        self._title, self._parts = title, []

    def heading(self, text: str) -> None:
        """Begins a section."""
        self._parts.append(f"<h2>{_escaped(text)}</h2>")

    def text(self, text: str) -> None:
        """Adds a paragraph."""
        self._parts.append(f"<p>{_escaped(text)}</p>")

    def lines(self, lines: Iterable[str]) -> None:
        """Adds lines as they are, in one block."""
        self._parts.append("<pre>" + "\n".join(map(_escaped, lines)) + "</pre>")

    def table(self, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Adds a table of texts, numbers and images, uint8 `[H, W, 3]`. Numbers are aligned to the right."""
        head = "".join(f'<th scope="col">{_escaped(name)}</th>' for name in header)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in rows)
        table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
        self._parts.append(f'<div class="wide">{table}</div>')

    def figure(self, figure: Any, caption: str) -> None:
        """Adds a figure of matplotlib; its caption is also what screen readers read."""
        import matplotlib

        content = io.BytesIO()
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "report"}):
            figure.savefig(content, format="svg", metadata={"Date": None})
        picture = _image("svg+xml", content.getvalue(), caption)
        self._parts.append(f"<figure>{picture}<figcaption>{_escaped(caption)}</figcaption></figure>")

    def write(self, path: str | os.PathLike) -> None:
        """Writes the page, whole or not at all."""
        title, policy = _escaped(self._title), "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
        text = "\n".join(
            (
                '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
                f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>",
                *self._parts,
                "</main>\n</body>\n</html>\n",
            )
        )
        write_atomically(path, text.encode("utf-8", "replace"))


def _cell(value):
    if isinstance(value, np.ndarray):
        return f"<td>{_image(*_encoded_image(value), 'the image')}</td>"
    if isinstance(value, str):
        return f'<td dir="auto">{_escaped(value)}</td>'
    return f'<td class="number">{_escaped(f"{value:,}" if isinstance(value, int) else f"{value:.4g}")}</td>'


def _escaped(text):
    text = str(text)
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
    return html.escape(escape_control_characters(cut))


def _image(kind, content, description):
    data = base64.b64encode(content).decode()
    return f'<img alt="{html.escape(description, quote=True)}" src="data:image/{kind};base64,{data}">'


def _encoded_image(image):
    """Returns the format of an image, and its bytes: photographs as JPEG, those of few pixels without loss."""
    from PIL import Image

    picture, content = Image.fromarray(image), io.BytesIO()
    picture.thumbnail((_WIDEST, _WIDEST))
    kind = "png" if max(picture.size) <= _FEW_PIXELS else "jpeg"
    picture.save(content, kind, quality=80)
    return kind, content.getvalue()
