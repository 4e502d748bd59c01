"""Command line: `python -m zoo list | check | doctor | plan`."""

import argparse
import importlib
import os
import pathlib
import sys
import tempfile

import rich.console
import rich.table

import zoo
from zoo.commands import command_line
from zoo.commands.command_line import add_command
from zoo.text.terminal import table_cell


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit status: 1 if something is not well, 2 for what the caller can mend."""
    return command_line.run(_parser(), arguments, backend=False)


def run_list(options) -> None:
    """Shows the checkpoints that come with the package."""
    cards = zoo.list()
    # In the narrowest terminal too, a name is whole: it is what `zoo.load` takes.
    width = max((len(card["name"]) for card in cards), default=4)
    name = rich.table.Column("name", min_width=width, no_wrap=True)
    about = rich.table.Column("data, their licence, scores", overflow="fold")
    table = rich.table.Table(name, "parameters", "MB", about, show_lines=True)
    for card in cards:
        scores = [_told(score) for score in card.get("scores", [])]
        lines = [str(card.get(key, "unknown")) for key in ("data", "licence")] + scores
        texts = card["name"], f"{card['parameters']:,}", str(card["megabytes"]), "\n".join(lines)
        table.add_row(*map(table_cell, texts))
    rich.console.Console().print(table)


def run_check(options) -> int:
    """Verifies checkpoints offline: hashes of their files, recorded answers, with --scores their scores on dev."""
    from zoo.commands import checking

    data = os.environ.get("KERAS_TRANSFORMER_DATA") if options.scores else None
    if options.scores and not data:
        raise ValueError("--scores needs the corpora. Set KERAS_TRANSFORMER_DATA to their folder.")
    if options.record is not None:
        if len(options.names) != 1:
            raise ValueError(f"--record needs the name or folder of one checkpoint. Received: {options.names}.")
        texts = pathlib.Path(options.record).read_text("utf-8").splitlines()
        checking.record(zoo.storage.checkpoints.find(options.names[0]), texts, options.evaluate.split())
    names = options.names or [card["name"] for card in zoo.list()]
    return _show((f"{name}: {what}", well, seen) for name in names for what, well, seen in checking.check(name, data))


def run_doctor(options) -> int:
    """Examines the machine: versions, devices and what they exchange, free disk, corpora."""
    from zoo.commands import doctor

    return _show(doctor.examine(command_line.log))


def run_plan(options) -> int:
    """Tells what a training takes, from a few updates of it: give the arguments of the task's `train`."""
    from zoo.training import planning

    commands = importlib.import_module(f"zoo.{options.task}.__main__").COMMANDS
    with tempfile.TemporaryDirectory() as folder, planning.planning():
        try:
            status = commands.main(["train", *options.arguments, "--output", folder])
        except planning.Planned as planned:
            table = rich.table.Table("", "", show_header=False)
            for row in planned.plan:
                table.add_row(*row)
            rich.console.Console().print(table)
            return 0
    return status


def _show(symptoms):
    """Prints a line for each symptom as it comes; returns 1 if one is not well."""
    signs, failed = {True: "[green]well[/]", None: "[yellow]note[/]", False: "[red]ILL [/]"}, 0
    console = rich.console.Console()
    for what, well, seen in symptoms:
        failed |= well is False
        console.print(f"{signs[well]}  {table_cell(what)}: {table_cell(seen)}", soft_wrap=True)
    return int(failed)


def _told(score):
    search = f", beam {score['beam_size']}, length penalty {score['length_penalty']}" if "beam_size" in score else ""
    return f"{score['value']:.2f} {score['metric']}, {score['data']}: {score['signature']}{search}"


def _parser():
    parser = argparse.ArgumentParser(prog="python -m zoo", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_command(commands, "list", run_list)
    check = add_command(commands, "check", run_check)
    check.add_argument("names", nargs="*", help="names or folders; all that come with the package by default")
    check.add_argument("--scores", action="store_true", help="evaluate each on its dev set, which takes minutes")
    check.add_argument("--record", metavar="FILE", help="write the answers to the lines of a file into the card first")
    check.add_argument("--evaluate", default="", help="with --record: arguments of `evaluate` that give the score")
    add_command(commands, "doctor", run_doctor)
    plan = add_command(commands, "plan", run_plan)
    plan.add_argument("task", choices=zoo.tasks())
    plan.add_argument("arguments", nargs=argparse.REMAINDER, help="of `train`, but for --output")
    return parser


if __name__ == "__main__":
    sys.exit(main())
