"""Functions for the command lines of all tasks."""

import argparse
import contextlib
import functools
import json
import pathlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import rich.console
import rich.progress

from zoo.commands.quiet import quiet_start
from zoo.config import Recipe
from zoo.config_values import override
from zoo.corpora.reading import read_lines
from zoo.distribution.exiting import WorkerFailure, exit_process
from zoo.text.terminal import escape_control_characters, join_lines

CORPUS = "data", "columns", "features", "split"  # Arguments of `add_corpus`.
LIMITS = "max_bytes", "max_seconds"  # Arguments of `add_limits`.
_errors = rich.console.Console(stderr=True)


def run(parser: argparse.ArgumentParser, arguments: list[str] | None = None, backend: bool = True) -> int:
    """Runs the command of some arguments; returns its exit status.

    The status is the value that the command returns, 0 if that is None, or 2 for an error of the caller, which is
    printed in one line. Without `backend`, Keras is not imported, for commands that do not need it.
    """
    options = parser.parse_args(arguments)
    try:
        if backend:
            with quiet_start():
                import keras  # noqa: F401 (starts the backend)
        return options.run(options) or 0
    except (ValueError, OSError, ImportError, FloatingPointError) as error:
        print(f"error: {escape_control_characters(join_lines(str(error)))}", file=sys.stderr)
        return exit_process(2) if isinstance(error, WorkerFailure) else 2
    except KeyboardInterrupt:
        print("interrupted; the same command resumes from the last checkpoint", file=sys.stderr)
        return 130


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], None], note: str = ""
) -> argparse.ArgumentParser:
    """Adds a command that calls `run`; the help text is the docstring of `run`, followed by a note."""
    text = f"{run.__doc__} {note}".strip().replace("%", "%%")
    command = commands.add_parser(name, help=text, description=text)
    command.set_defaults(run=run)
    return command


def add_training(command: argparse.ArgumentParser, recipes: Iterable[str]) -> None:
    """Adds the arguments of `train` that all tasks have; see `training_arguments`."""
    command.add_argument("--recipe", choices=recipes, default="small")
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="such as training.steps=500")
    first = command.add_mutually_exclusive_group()
    first.add_argument("--vocabulary", help="a vocabulary to use; learned from the corpus by default")
    first.add_argument("--initial", help="model to fine-tune: a name, a checkpoint, a folder with a BERT")
    command.add_argument(
        "--strategy",
        choices=["mirrored", "workers"],
        help="mirrored: train on all GPUs of this machine; workers: on those of all processes that TF_CONFIG names",
    )
    command.add_argument("--card", help="JSON with name, data, licence of the data ... for the checkpoint's card")
    command.add_argument("--output", required=True, help="folder of the run; an interrupted run resumes")


def training_arguments(options: argparse.Namespace, recipes: Mapping[str, Recipe], program: str) -> dict[str, Any]:
    """Converts the arguments of `add_training` to arguments of a task's `train`."""
    from zoo.distribution.current import current_workers
    from zoo.text.tokenizer import Tokenizer

    distributed = make_strategy(options.strategy)
    card = json.loads(pathlib.Path(options.card).read_text("utf-8")) if options.card else {}
    card.setdefault("command", f"python -m {program} " + " ".join(sys.argv[1:]))
    return {
        "recipe": override(recipes[options.recipe], options.set),
        "folder": options.output,
        "card": card,
        "tokenizer": Tokenizer.load(options.vocabulary) if options.vocabulary else None,
        "initial": _initial(options.initial) if options.initial else None,
        "log": log if current_workers(distributed).chief else lambda text: None,
        "strategy": distributed,
    }


def _initial(name):
    """Loads a checkpoint, or a BERT from the folder of a Hugging Face model."""
    import zoo
    from zoo.conversion.from_bert import load_bert

    folder = pathlib.Path(name)
    foreign = (folder / "config.json").exists() and not (folder / "card.json").exists()
    return load_bert(folder) if foreign else zoo.load(name)


def add_corpus(command: argparse.ArgumentParser, prefix: str, file: str, columns: str, features: str) -> Any:
    """Adds the arguments of a corpus; returns their group.

    Args:
        command: Parser of the command.
        prefix: Prefix of their names: "" or "dev-".
        file, columns, features: Help texts: of the data file, its columns, and the features of a tfds data set.
    """
    group = command.add_argument_group(f"{prefix or 'training '}corpus".replace("-", " "))
    group.add_argument(f"--{prefix}data", required=True, help=f"{file}, gzip or not, or tfds:NAME")
    group.add_argument(f"--{prefix}columns", type=int, nargs="+", help=f"columns of {columns}, from 0")
    group.add_argument(f"--{prefix}features", nargs="+", help=f"of a tfds data set: {features}")
    group.add_argument(f"--{prefix}split", default="validation" if prefix else "train", help="of a tfds data set")
    return group


def given_arguments(options: argparse.Namespace, names: Iterable[str], prefix: str = "") -> dict[str, Any]:
    """Returns the values of the arguments with these names after the prefix, without those that are not given."""
    values = {name: getattr(options, prefix.replace("-", "_") + name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def add_texts(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `read_texts`."""
    command.add_argument("files", nargs="*", help="texts, one a line; standard input by default")
    command.add_argument("--text", action="append", help="a text instead of files")


def read_texts(options: argparse.Namespace) -> list[str]:
    """Reads the lines of files or of standard input, or the texts of `--text`."""
    if options.text is not None:
        return options.text
    if options.files:
        return [text for path in options.files for text in read_lines(path)]
    return [text.decode("utf-8", "replace").rstrip("\r\n") for text in sys.stdin.buffer]


def add_limits(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `LIMITS`."""
    command.add_argument("--max-bytes", type=int, help="limit of a text; a longer one is an error; 100,000 by default")
    command.add_argument("--max-seconds", type=float, help="limit of a call; a longer one is an error; none by default")


def make_strategy(name: str | None) -> Any:
    """Returns the `tf.distribute` strategy of `--strategy`; None without one, and on JAX, where Keras stores it.

    Must be called before the first computation.
    """
    if name is None:
        return None
    import keras

    backend = keras.backend.backend()
    if backend == "tensorflow":
        from zoo.distribution import on_tensorflow

        return on_tensorflow.mirrored_strategy() if name == "mirrored" else on_tensorflow.multi_worker_strategy()
    if backend == "jax":
        from zoo.distribution.cluster import read_cluster
        from zoo.distribution.on_jax import set_data_parallel

        return set_data_parallel(read_cluster() if name == "workers" else None)
    raise ValueError(
        f"--strategy {name} needs the backend TensorFlow or JAX. Received: KERAS_BACKEND={backend}. Unset it, or omit "
        "--strategy."
    )


def log(text: str) -> None:
    """Prints a text to stderr, without markup."""
    _errors.print(escape_control_characters(text), highlight=False, markup=False, soft_wrap=True)


@contextlib.contextmanager
def progress_bar(total: int | None, description: str) -> Iterator[Callable[[int], None]]:
    """Shows a progress bar on stderr while the block runs; gives the function that advances it by a count."""
    with rich.progress.Progress(console=_errors, transient=True, disable=not _errors.is_terminal) as bar:
        yield functools.partial(bar.advance, bar.add_task(description, total=total))
