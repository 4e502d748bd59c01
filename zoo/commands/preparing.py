"""The command `prepare` of tasks on texts, which encodes a large corpus on Apache Beam."""

import argparse
import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any

import rich.progress

from zoo.commands.command_line import CORPUS, given_arguments, log
from zoo.corpora.plain_texts import text_pattern
from zoo.corpora.reading import read_lines
from zoo.extras import require


def add_prepare(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command, beside those of the corpus."""
    command.add_argument("--vocabulary", required=True, help="file of the command `vocabulary`, or of a checkpoint")
    text = "longer examples are left out, 0 leaves out none; %(default)s by default"
    command.add_argument("--max-tokens", type=int, default=256, help=text)
    group = command.add_argument_group("rules", "What breaks a rule is left out and counted; see the page of this.")
    text = "rules to keep to; without a name, all that fit; none by default"
    group.add_argument("--rules", nargs="*", metavar="NAME", help=text)
    text = "files of test sets, a sentence a line: no example may have one of them on any side"
    group.add_argument("--held-out", nargs="+", default=[], metavar="FILE", help=text)
    text = "the longest side, for the rule length; %(default)s by default"
    group.add_argument("--max-characters", type=int, default=1000, help=text)
    text = "the largest ratio of the lengths of both sides, for the rule ratio; %(default)s by default"
    group.add_argument("--max-ratio", type=float, default=3.0, help=text)
    group = command.add_argument_group("running", "The result is the same with any runner and number of workers.")
    text = "number of shards; by default one for every 32 MB of text"
    group.add_argument("--shards", type=int, default=0, help=text)
    group.add_argument("--seed", type=int, default=0, help="seed of the order in each shard; %(default)s by default")
    text = "processes on this machine; %(default)s, the default, for one for each core"
    group.add_argument("--processes", type=int, default=0, help=text)
    text = "runner of Apache Beam, such as FlinkRunner or DataflowRunner; %(default)s, on this machine, by default"
    group.add_argument("--runner", default="DirectRunner", help=text)
    text = "an option of the runner, such as flink_master=host:8081; may be repeated"
    group.add_argument("--runner-option", action="append", default=[], metavar="NAME=VALUE", help=text)
    text = "folder to write, here or at an address of Beam, such as s3://bucket/prepared"
    command.add_argument("--output", required=True, help=text)


def prepared_corpus(options: argparse.Namespace) -> Any:
    """Opens the prepared corpus that `--data` names; None if it is another corpus."""
    from zoo.corpora.prepared_corpus import PreparedCorpus, is_prepared

    return PreparedCorpus.open(options.data) if is_prepared(options.data) else None


def run_prepare_texts(options: argparse.Namespace) -> None:
    """Runs the command of a task on plain texts."""
    patterns, corpus = text_pattern(**given_arguments(options, CORPUS))
    run_prepare(options, patterns, ("text",), **corpus)


def run_prepare(options: argparse.Namespace, patterns: Sequence[str], names: tuple[str, ...], **corpus: Any) -> None:
    """Runs the command; `patterns` and `corpus` are arguments of `zoo.preparation.inputs.open_inputs`."""
    require("Preparing a corpus", "apache_beam", "google_crc32c")
    logging.disable(logging.WARNING)  # Beam tells of packages that are not needed here.
    from zoo.preparation.inputs import open_inputs
    from zoo.preparation.pipeline import make_options, prepare
    from zoo.preparation.rules import Rules, default_rules, text_key
    from zoo.text.vocabularies import load_vocabulary

    languages = tuple(getattr(options, "languages", None) or ())
    chosen = options.rules if options.rules is None or options.rules else default_rules(len(names), languages)
    held_out = frozenset(text_key(text) for path in options.held_out for text in read_lines(path) if text.strip())
    rules = Rules(
        (*(chosen or ()), *(["overlap"] if held_out and "overlap" not in (chosen or ()) else [])),
        languages,
        options.max_characters,
        options.max_ratio,
        held_out,
    )
    tokenizer = load_vocabulary(options.vocabulary)
    others = [f"--{option}" for option in options.runner_option]
    pipeline = make_options(options.runner, options.processes or os.cpu_count() or 1, others)
    with _shard_bar() as progress:
        report = prepare(
            open_inputs(*patterns, **corpus),
            tokenizer,
            options.output,
            names=names,
            rules=rules,
            max_tokens=options.max_tokens,
            num_shards=options.shards,
            seed=options.seed,
            options=pipeline,
            progress=progress,
        )
    log(f"{report}\nwritten: {options.output}")


@contextlib.contextmanager
def _shard_bar() -> Iterator[Any]:
    """Shows how many shards are written, and the time; gives the function that takes both numbers."""
    columns = (
        rich.progress.SpinnerColumn(),
        rich.progress.TextColumn("{task.description}"),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TextColumn("shards"),
        rich.progress.TimeElapsedColumn(),
    )
    with os.fdopen(os.dup(2), "w") as errors:  # Shown also while what workers print is discarded.
        console = rich.console.Console(file=errors)
        shown = console.is_terminal
        with rich.progress.Progress(*columns, console=console, transient=True, disable=not shown) as bar:
            task = bar.add_task("reading, cleaning, encoding", total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
