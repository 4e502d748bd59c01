"""Smaller copies of checkpoints, with the scores that they have then."""

import importlib
import os
from collections.abc import Sequence

import zoo
from zoo.commands.card_values import read_card_values
from zoo.storage import checkpoints
from zoo.storage.arrays import check_new_folder


def pack(
    name: str,
    output: str | os.PathLike,
    dtype: str = "int8",
    base: str | None = None,
    card: str | os.PathLike | None = None,
    evaluate: Sequence[str] = (),
    data: str = "dev",
) -> dict:
    """Writes a checkpoint in another form; returns its card.

    Args:
        name: Name, folder or address of the checkpoint.
        output: Folder to write.
        dtype, base: As for `zoo.storage.checkpoints.write_checkpoint`.
        card: JSON file of values for the card.
        evaluate: Arguments of the task's `evaluate`, such as `--data dev.tsv`: the scores of the new checkpoint on that
            corpus replace those of the card, which are kept otherwise.
        data: What the card calls that corpus.

    Raises:
        ValueError: If the output exists, or an argument is invalid.
    """
    check_new_folder(output)
    values = read_card_values(card)
    predictor = zoo.load(name)
    if evaluate:  # Read before anything is written.
        if predictor.task == "encoder":
            raise ValueError("An encoder has no scores. Received: evaluate. Leave it out.")
        commands = importlib.import_module(f"zoo.{predictor.task}.__main__").COMMANDS
        options = commands.parser().parse_args(["evaluate", "--checkpoint", os.fspath(output), *evaluate])
        corpus = commands.read(options)
    predictor.card |= values
    written = predictor.save(output, dtype, base)
    if evaluate:
        scores = commands.module().evaluate(commands.load(options), corpus).scores
        search = {name: getattr(predictor, name) for name in predictor.searched_with}
        written["scores"] = [{**score._asdict(), "data": data, **search} for score in scores]
        checkpoints.write_card(output, written)
    return written
