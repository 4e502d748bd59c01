"""A folder with recordings of tones, which a small model learns in seconds."""

import numpy as np
import pytest
import tones

for module in ("soundfile", "soxr"):
    pytest.importorskip(module, reason=f"{module} is not installed")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Returns a folder with 80 recordings and a table of them."""
    path, rng, lines = tmp_path_factory.mktemp("tones"), np.random.default_rng(0), ["text\taudio"]
    for number in range(80):
        text = tones.random_text(rng)
        (path / f"{number:02d}.wav").write_bytes(tones.wav(tones.tone(text, rng)))
        lines.append(f"{text}\t{number:02d}.wav")
    (path / "table.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    return path
