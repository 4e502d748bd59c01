"""Does a checkpoint still do what it did when it was made? Its files, its answers to a few texts, its scores."""

import contextlib
import importlib
import io
import json
import os
import pathlib
import re
from collections.abc import Iterator, Sequence

from zoo.commands.doctor import Symptom
from zoo.storage import checkpoints
from zoo.storage.arrays import write_atomically

_NEAR = 0.02  # Printed numbers may differ as much on another machine.
_SCORE_NEAR = 0.35  # And scores on hundreds of examples: float32 sums in another order move an answer or two.
_NUMBER = re.compile(r"-?\d+\.\d+")


def check(name: str, data: str | None = None) -> Iterator[Symptom]:
    """Looks at a checkpoint without any network.

    Args:
        name: Of a shipped checkpoint, or a folder.
        data: The folder of the corpora, to evaluate on the dev set that the card names; None not to.

    Yields:
        Of files, answers and, with `data`, the score whether they are those of the card.
    """
    folder = checkpoints.find(name)
    try:
        card = checkpoints.read_checkpoint(folder).card
    except ValueError as error:
        yield Symptom("files", False, str(error))
        return
    yield Symptom("files", True, f"{len(card['files'])} files, each with its hash")
    recorded = card.get("checks")
    if not recorded:
        yield Symptom("answers", None, "the card holds none")
        return
    yield _answers(name, card["task"], recorded)
    if data is not None:
        yield _score(name, card, recorded["evaluate"], data)


def record(folder: str | os.PathLike, texts: Sequence[str], evaluate: Sequence[str]) -> None:
    """Writes the answers to `texts` into the card of a checkpoint, for `check`.

    Args:
        folder: Of the checkpoint.
        texts: What to ask, in any language it knows.
        evaluate: Arguments of the task's `evaluate` that give the first score of the card; files of the dev set by
            their paths below the folder of the corpora, as `{data}/classification/sst2/dev.tsv`.
    """
    card = checkpoints.read_card(folder)
    answers = run(card["task"], [*_ask(card["task"], folder), *_as_arguments(texts)])
    card["checks"] = {"texts": [*texts], "answers": answers, "evaluate": [*evaluate]}
    content = json.dumps(card, indent=1, ensure_ascii=False) + "\n"
    write_atomically(pathlib.Path(folder) / checkpoints.CARD, content.encode())


def run(task: str, arguments: Sequence[str]) -> list[str]:
    """The lines that a command of a task prints.

    Raises:
        ValueError: If it fails; the message is that of the command.
    """
    printed, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaints):
        status = _commands(task).main([*arguments])
    if status:
        raise ValueError(complaints.getvalue().strip())
    return printed.getvalue().splitlines()


def alike(found: str, expected: str) -> bool:
    """Whether two lines are the same but for numbers, which may differ a little."""
    if _NUMBER.sub("", found) != _NUMBER.sub("", expected):
        return False
    pairs = zip(_NUMBER.findall(found), _NUMBER.findall(expected))
    return all(abs(float(own) - float(other)) <= _NEAR for own, other in pairs)


def _answers(name, task, recorded):
    found = run(task, [*_ask(task, name), *_as_arguments(recorded["texts"])])
    expected = recorded["answers"]
    if len(found) != len(expected):
        return Symptom("answers", False, f"{len(found)} lines instead of {len(expected)}")
    for text, own, wanted in zip(recorded["texts"], found, expected):
        if not alike(own, wanted):
            return Symptom("answers", False, f"{text!r} gives {own!r} instead of {wanted!r}")
    return Symptom("answers", True, f"those of the card to {len(recorded['texts'])} texts")


def _score(name, card, arguments, data):
    score = card["scores"][0]
    given = [argument.format(data=data) for argument in arguments]
    try:
        first = run(card["task"], ["evaluate", "--checkpoint", str(name), *given])[0]
    except ValueError as error:
        return Symptom("score", False, str(error))
    found = float(_NUMBER.search(first.removeprefix(score["metric"])).group())
    told = f"{score['metric']} {found:.2f}; the card has {score['value']:.2f}"
    return Symptom("score", abs(found - score["value"]) <= _SCORE_NEAR, told)


def _ask(task, name):
    return [_commands(task).predict, "--checkpoint", str(name)]


def _as_arguments(texts):
    return [argument for text in texts for argument in ("--text", text)]


def _commands(task):
    return importlib.import_module(f"zoo.{task}.__main__").COMMANDS
