"""Corpora made by translators: sequence-level distillation, forward-translation and back-translation."""

import hashlib
import json
import os
import pathlib
import shutil
from collections.abc import Iterable

from zoo.corpora.encoded_corpus import chunks
from zoo.serving.origin import model_digest
from zoo.serving.predictor import Progress
from zoo.storage.arrays import write_atomically
from zoo.storage.lock import folder_lock
from zoo.text.terminal import join_lines
from zoo.translation.metrics import sentence_chrf
from zoo.translation.predictor import Translator

_BLOCK = 2000  # Examples of a part, after which an interrupted run goes on.


def distill(
    translator: Translator,
    examples: Iterable[tuple[str, str | None]],
    output: str | os.PathLike,
    *,
    closest_of: int = 1,
    tag: str = "",
    reverse: bool = False,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    progress: Progress = None,
) -> int:
    """Writes a tab-separated corpus of texts and their translations, to train another translator on.

    Its translations are more regular than those of people, and easier to learn (Kim and Rush 2016, "Sequence-Level
    Knowledge Distillation"). The file is written whole at the end; until then its parts are in the folder
    `OUTPUT.parts`, and the same call goes on after an interruption.

    Args:
        translator: The teacher, perhaps an `zoo.translation.ensemble.EnsembleTranslator`.
        examples: Pairs of a text and its reference translation, or None if there is none.
        output: File to write.
        closest_of: With n > 1, of the n best translations that closest to the reference by chrF is taken (section 3.3
            of the paper).
        tag: Text before each source, such as "<bt>", by which the new model tells these pairs from those of people
            (Caswell et al. 2019, "Tagged Back-Translation").
        reverse: Whether the translations become the source: back-translation of texts in the target language (Sennrich
            et al. 2016).
        beam_size, length_penalty: As for `Translator.translate`.
        progress: Called with the number of examples done since the last call.

    Returns:
        The number of pairs; texts without a translation, or of white space only, are left out.

    Raises:
        ValueError: If an argument is invalid, or the output exists.
    """
    if closest_of < 1:
        raise ValueError(f"`closest_of` must be at least 1. Received: closest_of={closest_of}.")
    output = pathlib.Path(output)
    if output.exists():
        raise ValueError(f"{output} exists already, and nothing is overwritten. Choose another file or delete it.")
    search = translator.search_settings(closest_of, beam_size, length_penalty)
    members = getattr(translator, "translators", [translator])
    settings = {**search, "tag": tag, "reverse": reverse, "models": [model_digest(member) for member in members]}
    parts = output.with_name(f"{output.name}.parts")
    parts.mkdir(parents=True, exist_ok=True)
    written = []
    with folder_lock(parts):
        for number, block in enumerate(chunks(examples, _BLOCK)):
            block = [[None if text is None else _one_line(text) for text in example] for example in block]
            block = [(text, reference) for text, reference in block if text]
            digest = hashlib.sha256(json.dumps([settings, block]).encode()).hexdigest()
            written.append(parts / f"{number:06d}-{digest[:16]}.tsv")
            if not written[-1].exists():
                lines = _lines(translator, block, search, tag, reverse)
                write_atomically(written[-1], "".join(f"{line}\n" for line in lines).encode())
            if progress is not None:
                progress(len(block))
        content = b"".join(path.read_bytes() for path in written)
        write_atomically(output, content)
    shutil.rmtree(parts)
    return content.count(b"\n")


def _lines(translator, block, search, tag, reverse):
    found = translator.n_best([text for text, _ in block], **search) if block else []
    for (text, reference), candidates in zip(block, found):
        texts = [_one_line(candidate.text) for candidate in candidates]
        if reference is not None and len(texts) > 1:
            best = max(texts, key=lambda candidate: sentence_chrf(candidate, reference))
        else:
            best = texts[0]
        source, target = (best, text) if reverse else (text, best)
        if best:
            yield f"{tag} {source}\t{target}".lstrip()


def _one_line(text):
    return " ".join(join_lines(text).split())
