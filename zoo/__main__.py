"""Command line: `python -m zoo list | show | check | pack | convert | plan | serve` and others."""

import argparse
import contextlib
import dataclasses
import importlib
import json
import os
import pathlib
import tempfile
from collections.abc import Iterator

import rich.console
import rich.table

import zoo
from zoo.commands import command_line, converting, data_working, estimating
from zoo.commands.command_line import add_command
from zoo.distribution.exiting import exit_command
from zoo.extras import require
from zoo.storage.packing import DTYPES
from zoo.text.terminal import table_cell, working

FIRST_SHOWN = ("name", "task", "data", "licence", "scores", "parameters")
SCORE = {"value", "metric", "data", "signature"}


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit status.

    It is 1 if a check failed, 2 for an error that the caller can fix, 3 if a check was left out.
    """
    return command_line.run(parser(), arguments)


def run_list(options) -> None:
    """Lists the checkpoints that come with the package: parameters, megabytes on disk, score, licence of the data."""
    right = {"justify": "right", "no_wrap": True}
    columns = [
        rich.table.Column("task/name", no_wrap=True),
        rich.table.Column("parameters", **right),
        rich.table.Column("MB", **right),
        rich.table.Column("score", no_wrap=True),
        rich.table.Column("licence", no_wrap=True),
    ]
    table = rich.table.Table(*columns, box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for card in zoo.list():
        score = "{value:.2f} {metric}".format(**card["scores"][0]) if card.get("scores") else "none"
        licence = card.get("licence_short") or card.get("licence", "unknown")
        row = card["name"], f"{card['parameters']:,}", str(card["megabytes"]), score, str(licence)
        table.add_row(*map(table_cell, row))
    console = rich.console.Console()
    console.print(table)
    console.print("\nAll about one of them: python -m zoo show NAME", highlight=False)


def run_show(options) -> None:
    """Prints the card of a checkpoint: data, licence, scores, recipe, labels, hashes of the files."""
    folder = zoo.checkpoints.find(options.name)
    settings = zoo.checkpoints.read_settings(folder)
    if words := settings.get("known_words"):
        settings["known_words"] = f"{len(words.split()):,} words"
    if terms := settings.get("glossary"):
        settings["glossary"] = f"{len(terms):,} terms, such as {', '.join([*terms][:3])}"
    card = {**zoo.checkpoints.read_card(folder), "settings": settings}
    first = {key: card[key] for key in FIRST_SHOWN if key in card}
    table = rich.table.Table.grid(rich.table.Column(no_wrap=True), rich.table.Column(overflow="fold"), padding=(0, 2))
    for name, value in _card_rows({**first, **card}):
        table.add_row(table_cell(name), table_cell(value))
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
    return _show(
        result._replace(name=f"{name}: {result.name}") for name in names for result in checking.check(name, data)
    )


def run_pack(options) -> None:
    """Writes a smaller copy of a checkpoint: in 8 or 16 bits, or as the difference to a base."""
    from zoo.commands.packing import pack

    values = options.dtype, options.base, options.card, options.evaluate.split(), options.data_name
    with contextlib.nullcontext() if options.evaluate else working(f"packing {options.name}"):
        card = pack(options.name, options.output, *values)
    size = sum(file.stat().st_size for file in pathlib.Path(options.output).iterdir())
    for score in card.get("scores", ()) if options.evaluate else ():
        print(_score_line(score))
    command_line.log(f"written: {options.output}, {size / 1e6:.1f} MB")


def run_average(options) -> None:
    """Writes the mean of the weights of checkpoints that were fine-tuned from the same one."""
    from zoo.commands.averaging import average

    with working("averaging"):
        average(options.names, options.output, options.card)
    command_line.log(f"written: {options.output}")


def run_doctor(options) -> int:
    """Checks the machine: versions, devices and whether they exchange values correctly, free disk space, corpora."""
    from zoo.commands import doctor

    return _show(doctor.examine(command_line.log))


def run_plan(options) -> int:
    """Estimates time and memory of a training run from a few updates; takes the arguments of the task's `train`."""
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


def run_serve(options) -> None:
    """Serves models to browsers and programs: a page and a JSON API. Others reach it with --host and a token only."""
    require("The server", "fastapi", "uvicorn", "prometheus_client")
    from zoo.web.server import serve
    from zoo.web.settings import Settings

    names = (field.name for field in dataclasses.fields(Settings) if hasattr(options, field.name))
    given = {name: getattr(options, name) for name in names}
    token = os.environ.get("KERAS_TRANSFORMER_TOKEN", "")
    lists = {name: tuple(given.pop(name)) for name in ("models", "allowed_hosts")}
    serve(Settings(**given, **lists, token=token), command_line.log)


def _show(results):
    """Prints a line for each result as it comes; returns 1 if a check failed, else 3 if one was left out."""
    signs, failed, skipped = {True: "[green]ok  [/]", None: "[yellow]note[/]", False: "[red]FAIL[/]"}, False, False
    console = rich.console.Console()
    for name, passed, detail, left_out in results:
        failed, skipped = failed or passed is False, skipped or left_out
        console.print(f"{signs[passed]}  {table_cell(name)}: {table_cell(detail)}", soft_wrap=True)
    return 1 if failed else 3 if skipped else 0


def _card_rows(values: dict, indent: str = "") -> Iterator[tuple[str, str]]:
    """Yields the name and text of each line that shows a card; nested values are indented."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield f"{indent}{name}", ""
            yield from _card_rows(value, f"{indent}  ")
        else:
            first, *others = _lines(name, value) or [""]
            yield f"{indent}{name}", first
            yield from (("", line) for line in others)


def _lines(name, value):
    items = value if isinstance(value, list) else []
    if name == "scores" and all(isinstance(score, dict) and score.keys() >= SCORE for score in items):
        return [_score_line(score) for score in items]
    if items and all(isinstance(item, str) for item in items):
        return value if name in ("texts", "answers") else [" ".join(map(_quoted, value))]
    if isinstance(value, int) and not isinstance(value, bool):
        return [f"{value:,}"]
    return [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)]


def _quoted(label):
    """The label in quotation marks if it is empty or has spaces, as chains of labels in parsing have."""
    return label if len(label.split()) == 1 else json.dumps(label, ensure_ascii=False)


def _score_line(score):
    interval = f" ± {score['interval']:.2f}" if "interval" in score else ""
    named = (("beam_size", "beam"), ("length_penalty", "length penalty"), ("iterations", "iterations"))
    search = "".join(f", {shown} {score[name]}" for name, shown in named if name in score)
    return f"{score['value']:.2f}{interval} {score['metric']}, {score['data']}: {score['signature']}{search}"


def parser() -> argparse.ArgumentParser:
    """Returns the parser of all commands."""
    found = argparse.ArgumentParser(prog="python -m zoo", description=__doc__)
    commands = found.add_subparsers(required=True, metavar="COMMAND")
    add_command(commands, "list", run_list, backend=False)
    show = add_command(commands, "show", run_show, backend=False)
    show.add_argument("name", metavar="NAME", help="name, folder or address of a checkpoint")
    check = add_command(commands, "check", run_check, backend=False)
    check.add_argument("names", nargs="*", help="names or folders; all that come with the package by default")
    check.add_argument("--scores", action="store_true", help="evaluate each on its dev set, which takes minutes")
    check.add_argument("--record", metavar="FILE", help="write the answers to the lines of a file into the card first")
    check.add_argument("--evaluate", default="", help="with --record: arguments of `evaluate` that give the score")
    pack = add_command(commands, "pack", run_pack)
    pack.add_argument("name", metavar="NAME", help="name, folder or address of a checkpoint")
    text = "how weights are stored: %(choices)s; %(default)s by default"
    pack.add_argument("--dtype", choices=DTYPES, default="int8", help=text)
    pack.add_argument("--base", help="checkpoint that the model was fine-tuned from; only the difference is stored")
    pack.add_argument("--card", help="JSON with values for the card")
    pack.add_argument("--evaluate", default="", help="arguments of `evaluate` that give the scores of the copy")
    pack.add_argument("--data-name", default="dev", help="what the card calls that corpus; %(default)s by default")
    pack.add_argument("--output", required=True, help="folder to write")

    average = add_command(commands, "average", run_average)
    average.add_argument(
        "names", metavar="NAME", nargs="+", help="names, folders or addresses of two checkpoints or more"
    )
    average.add_argument("--card", help="JSON with values for the card")
    average.add_argument("--output", required=True, help="folder to write")
    converting.add_arguments(add_command(commands, "convert", converting.run_convert))
    add_command(commands, "doctor", run_doctor, backend=False)
    plan = add_command(commands, "plan", run_plan)
    plan.add_argument("task", choices=zoo.tasks(), help="folder of the task")
    plan.add_argument("arguments", nargs=argparse.REMAINDER, help="of `train`, but for --output")
    estimating.add_arguments(add_command(commands, "estimate", estimating.run_estimate))
    data_working.add_arguments(add_command(commands, "data-worker", data_working.run_data_worker, backend=False))
    _add_serve(commands)
    return found


def _add_serve(commands):
    from zoo.web.settings import Settings

    note = "The token is read from KERAS_TRANSFORMER_TOKEN."
    serve = add_command(commands, "serve", run_serve, note)
    serve.add_argument("models", metavar="NAME", nargs="*", help="names, folders or addresses; all shipped by default")
    text = "address to listen on; this machine only, %(default)s, by default"
    serve.add_argument("--host", default=Settings.host, help=text)
    serve.add_argument("--port", type=int, default=Settings.port, help="%(default)s by default; 0 for any free one")
    text = "name of this server, such as its name behind a proxy; may be given again"
    serve.add_argument("--allow-host", dest="allowed_hosts", action="append", default=[], metavar="NAME", help=text)
    for name, text in (
        ("max-bytes", "bytes of a request of texts"),
        ("max-file-bytes", "bytes of an image or a recording"),
        ("max-seconds", "seconds until the answer"),
        ("max-requests", "requests that wait or are computed"),
        ("max-batch", "inputs that are computed together"),
        ("max-models", "models in memory"),
    ):
        default = getattr(Settings, name.replace("-", "_"))
        serve.add_argument(f"--{name}", type=type(default), default=default, help=f"{text}; %(default)s by default")


if __name__ == "__main__":
    exit_command(main())
