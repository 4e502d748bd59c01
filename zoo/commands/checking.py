"""Checks that checkpoints still give the results that their cards record: files, predictions, scores."""

import base64
import contextlib
import importlib
import io
import os
import pathlib
import re
import tempfile
from collections.abc import Iterator, Sequence

import zoo
from zoo.commands import command_line
from zoo.commands.doctor import Result
from zoo.storage import checkpoints

_TOLERANCE = 0.02  # Of printed numbers, which differ between machines.
_PIXELS = 0.5  # The same for numbers from 1 on with one decimal, such as the sides of boxes.
_SCORE_TOLERANCE = 0.35  # Of scores on hundreds of examples: other orders of float32 sums change a few predictions.
_MAX_BYTES = 100_000  # Of a file whose answer is recorded.
_NUMBER = re.compile(r"-?\d+\.\d+")


def check(name: str, data: str | None = None) -> Iterator[Result]:
    """Checks a checkpoint without network access.

    Args:
        name: Name of a checkpoint in this package, or a folder.
        data: Folder of the corpora, to evaluate on the dev set that the card names; None for no evaluation.

    Yields:
        Whether the files, the answers and, with `data`, the score are those of the card.
    """
    folder = checkpoints.find(name)
    try:
        card = checkpoints.read_checkpoint(folder).card
    except ValueError as error:
        yield Result("files", False, str(error))
        return
    yield Result("files", True, f"{len(card['files'])} files, each with its hash")
    recorded = card.get("checks")
    if not recorded:
        yield Result("answers", None, "the card has no recorded answers")
        return
    yield _checked("answers", lambda: _answers(name, card["task"], recorded))
    if data is not None and recorded.get("evaluate"):
        yield _checked("score", lambda: _score(name, card, recorded["evaluate"], data))


def _checked(what, check):
    """Returns the result of a check; a missing optional package leaves it out, and other errors fail it."""
    try:
        return check()
    except ImportError as error:
        return Result(what, None, f"not checked: {error}", skipped=True)
    except (ValueError, OSError) as error:
        return Result(what, False, str(error))


def record(folder: str | os.PathLike, inputs: Sequence[str], evaluate: Sequence[str] = ()) -> None:
    """Records the answers to `inputs` in the card of a checkpoint, for `check`.

    Args:
        folder: Folder of the checkpoint.
        inputs: Texts to predict, in any language that the model supports. For models of images and sound names of files
            of at most 100 kB, which become a part of the card.
        evaluate: Arguments of the task's `evaluate` that give the first score of the card, with files of the dev set
            as paths below the folder of the corpora, such as `{data}/classification/sst2/dev.tsv`. None for an encoder,
            which has no score.

    Raises:
        ValueError: If a file is larger.
        OSError: If a file cannot be read.
    """
    card = checkpoints.read_card(folder)
    files = card["task"] != "encoder" and _commands(card["task"]).reads_files
    given = {"files": [_encoded(pathlib.Path(path)) for path in inputs]} if files else {"texts": [*inputs]}
    card["checks"] = {**given, "answers": _predict(card["task"], folder, given), "evaluate": [*evaluate]}
    checkpoints.write_card(folder, card)


def run(task: str, arguments: Sequence[str]) -> list[str]:
    """Runs a command of a task; returns the lines that it prints.

    Raises:
        ValueError, OSError, ImportError: As the command does.
    """
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        command_line.execute(_commands(task).parser(), [*arguments])
    return output.getvalue().splitlines()


def alike(found: str, expected: str) -> bool:
    """Returns whether two lines are equal, with a tolerance for the numbers in them."""
    if _NUMBER.sub("", found) != _NUMBER.sub("", expected):
        return False
    pairs = zip(_NUMBER.findall(found), _NUMBER.findall(expected))
    return all(abs(float(a) - float(b)) <= _tolerance(b) for a, b in pairs)


def _tolerance(number):
    return _PIXELS if number[-2:-1] == "." and abs(float(number)) >= 1 else _TOLERANCE


def _answers(name, task, recorded):
    found, expected = _predict(task, name, recorded), recorded["answers"]
    if len(found) != len(expected):
        return Result("answers", False, f"{len(found)} lines instead of {len(expected)}")
    kind = "files" if "files" in recorded else "texts"
    for number, (given, answer, wanted) in enumerate(zip(recorded[kind], found, expected)):
        if not alike(answer, wanted):
            shown = repr(given) if kind == "texts" else f"file {number + 1}"
            return Result("answers", False, f"{shown} gives {answer!r} instead of {wanted!r}")
    return Result("answers", True, f"those of the card to {len(recorded[kind])} {kind}")


def _score(name, card, arguments, data):
    score = card["scores"][0]
    given = [argument.format(data=data) for argument in arguments]
    first = run(card["task"], ["evaluate", "--checkpoint", str(name), *given])[0]
    found = float(_NUMBER.search(first.removeprefix(score["metric"])).group())
    comparison = f"{score['metric']} {found:.2f}; the card has {score['value']:.2f}"
    return Result("score", abs(found - score["value"]) <= _SCORE_TOLERANCE, comparison)


def _encoded(path):
    if path.stat().st_size > _MAX_BYTES:
        raise ValueError(
            f"A file whose answer is recorded becomes a part of the card. Received: {path}, of more than "
            f"{_MAX_BYTES:,} bytes. Use a smaller one."
        )
    return base64.b64encode(path.read_bytes()).decode()


def _predict(task, name, recorded):
    if "files" in recorded:
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / str(number) for number in range(len(recorded["files"]))]
            for path, content in zip(paths, recorded["files"]):
                path.write_bytes(base64.b64decode(content))
            lines = run(task, [_commands(task).predict, "--checkpoint", str(name), *map(str, paths)])
        found = {str(path): [] for path in paths}
        for line in lines:
            path, _, answer = line.partition("\t")
            found[path].append(answer)
        return ["\n".join(answers) for answers in found.values()]
    texts = recorded["texts"]
    if task == "encoder":  # The cosines with the first text.
        vectors = zoo.load(name).embed(texts)
        return [f"{cosine:.4f}" for cosine in vectors @ vectors[0]]
    options = [option for text in texts for option in ("--text", text)]
    return run(task, [_commands(task).predict, "--checkpoint", str(name), *options])


def _commands(task):
    return importlib.import_module(f"zoo.{task}.__main__").COMMANDS
