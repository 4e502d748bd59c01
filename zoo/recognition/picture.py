"""Drawing of a recording and of where its letters look."""

import io
import os
import pathlib
from typing import Any

import numpy as np
from keras import ops

from zoo.extras import require
from zoo.recognition.sound import read_recording
from zoo.storage.arrays import write_atomically

_END = "⏎"


def draw_attention(transcriber: Any, recording: Any, path: str | os.PathLike, text: str | None = None) -> str:
    """Draws the spectrogram of a recording and, below, the attention of the decoder of each token over time.

    Args:
        transcriber: A `zoo.recognition.predictor.SpeechTranscriber`.
        recording: As for `transcribe`; of a long one, the first part.
        path: File to write; its suffix determines the format (png, svg, pdf).
        text: Text of the recording; by default its transcript.

    Returns:
        The text.

    Raises:
        ValueError: If the recording is silent, or the suffix unknown.
        ImportError: If matplotlib is not installed.
    """
    require("Drawing", "matplotlib")
    from matplotlib.figure import Figure

    parts = transcriber.parts(read_recording(recording, transcriber.sampling_rate))
    if not parts:
        raise ValueError("There is nothing to draw of silence. Received: a silent recording.")
    samples, config = parts[0], transcriber.model.config
    text = transcriber.transcribe([samples])[0] if text is None else text
    weights = transcriber.attention(samples, text)
    sound = ops.convert_to_tensor(samples[None].astype("float32") / 2**15)
    bands = ops.convert_to_numpy(transcriber.model.spectrogram(sound))[0]
    (ids,) = transcriber.tokenizer.encode([text])
    names = [*(transcriber.tokenizer.pieces[i] for i in ids), _END]
    seconds = len(weights[0]) * config.samples_per_step / config.sampling_rate
    height = 2 + 0.2 * len(names)
    figure = Figure(figsize=(max(4, min(16, 2 * seconds)), height), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, max(1, height - 2)))
    above.imshow(bands.T, origin="lower", aspect="auto", cmap="magma", extent=(0, seconds, 0, config.num_mels))
    above.set(ylabel="mel band", title=text[:80], xlabel="")
    above.title.set_parse_math(False)
    rows = np.arange(len(names))
    below.imshow(weights, aspect="auto", cmap="Blues", extent=(0, seconds, len(names) - 0.5, -0.5), vmin=0)
    below.set_yticks(rows, [name.replace("▁", "␣") for name in names])
    below.set(xlabel="seconds")
    content = io.BytesIO()
    figure.savefig(content, format=pathlib.Path(path).suffix[1:] or "png", dpi=120)
    write_atomically(path, content.getvalue())
    return text
