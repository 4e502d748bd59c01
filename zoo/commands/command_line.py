"""What the command lines of all tasks have in common."""

import argparse
import json
import pathlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import rich.console
import rich.progress

from zoo.commands.quiet import quiet_start
from zoo.config import Recipe
from zoo.config_values import override
from zoo.corpora.reading import read_lines
from zoo.distribution.exiting import WorkerFailure, exit_process
from zoo.text.terminal import escape_control_characters, join_lines

CORPUS = ("data", "columns", "features", "split")  # What `add_corpus` adds.
_errors = rich.console.Console(stderr=True)


def run(parser: argparse.ArgumentParser, arguments: list[str] | None = None, backend: bool = True) -> int:
    """Runs the command that the arguments name; returns the exit status, which is what the command returns or 0.

    2 stands for what the caller can mend, told in one line. Commands that need no `backend` start without it.
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
        print("interrupted; the same command goes on from the last checkpoint", file=sys.stderr)
        return 130


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], None], note: str = ""
) -> argparse.ArgumentParser:
    """Adds a command that calls `run`, whose docstring, with a note behind it, is the help."""
    text = f"{run.__doc__} {note}".strip().replace("%", "%%")
    command = commands.add_parser(name, help=text, description=text)
    command.set_defaults(run=run)
    return command


def add_training(command: argparse.ArgumentParser, recipes: Iterable[str]) -> None:
    """The arguments of a training that all tasks take; see `training`."""
    command.add_argument("--recipe", choices=recipes, default="small")
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="such as training.steps=500")
    first = command.add_mutually_exclusive_group()
    first.add_argument("--vocabulary", help="a vocabulary to use; learned anew by default")
    first.add_argument(
        "--initial",
        help="what to fine-tune: a name, a checkpoint, a folder with a BERT",
    )
    command.add_argument(
        "--strategy",
        choices=["mirrored", "workers"],
        help="mirrored: train on all GPUs of this machine; workers: on those of all processes that TF_CONFIG names",
    )
    command.add_argument("--card", help="JSON with name, data, licence of the data ... for the checkpoint's card")
    command.add_argument("--output", required=True, help="folder of the run; an interrupted one goes on")


def training(options: argparse.Namespace, recipes: Mapping[str, Recipe], program: str) -> dict[str, Any]:
    """What the arguments of `add_training` ask for, as arguments of a task's `train`."""
    from zoo.distribution.current import current_workers
    from zoo.text.tokenizer import Tokenizer

    distributed = strategy(options.strategy)
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
    """A checkpoint of ours, or a BERT in the folder of a Hugging Face model."""
    import zoo
    from zoo.conversion.from_bert import load_bert

    folder = pathlib.Path(name)
    foreign = (folder / "config.json").exists() and not (folder / "card.json").exists()
    return load_bert(folder) if foreign else zoo.load(name)


def add_corpus(command: argparse.ArgumentParser, prefix: str, file: str, columns: str, features: str) -> Any:
    """The arguments that `corpus` reads; returns their group.

    Args:
        command: What they belong to.
        prefix: Of their names: "" or "dev-".
        file, columns, features: What the data file is, and what is chosen of it or of a tfds data set.
    """
    group = command.add_argument_group(f"{prefix or 'training '}corpus".replace("-", " "))
    group.add_argument(f"--{prefix}data", required=True, help=f"{file}, gzip or not, or tfds:NAME")
    group.add_argument(f"--{prefix}columns", type=int, nargs="+", help=f"columns of {columns}, from 0")
    group.add_argument(f"--{prefix}features", nargs="+", help=f"of a tfds data set: {features}")
    group.add_argument(f"--{prefix}split", default="validation" if prefix else "train", help="of a tfds data set")
    return group


def corpus(options: argparse.Namespace, prefix: str = "", names: Iterable[str] = CORPUS) -> dict[str, Any]:
    """What the arguments of these names behind the prefix ask for; those left out are absent."""
    given = {name: getattr(options, prefix.replace("-", "_") + name) for name in names}
    return {name: value for name, value in given.items() if value is not None}


def add_texts(command: argparse.ArgumentParser) -> None:
    """The arguments that `texts` reads."""
    command.add_argument("files", nargs="*", help="texts, one a line; standard input by default")
    command.add_argument("--text", action="append", help="a text instead of files")


def texts(options: argparse.Namespace) -> list[str]:
    """The lines of files or of standard input, or the texts of `--text`."""
    if options.text is not None:
        return options.text
    if options.files:
        return [text for path in options.files for text in read_lines(path)]
    return [text.decode("utf-8", "replace").rstrip("\r\n") for text in sys.stdin.buffer]


def add_limits(command: argparse.ArgumentParser) -> None:
    """The arguments that `limits` reads."""
    command.add_argument("--max-bytes", type=int, help="of a text; longer ones are refused; 100,000 by default")
    command.add_argument("--max-seconds", type=float, help="of a call, which then ends by an error; any by default")


def limits(options: argparse.Namespace) -> dict[str, Any]:
    """Those of `zoo.limits.Limits` that were given."""
    given = {name: getattr(options, name) for name in ("max_bytes", "max_seconds")}
    return {name: value for name, value in given.items() if value is not None}


def strategy(name: str | None) -> Any:
    """The `tf.distribute` strategy that `--strategy` names; None for none, and on JAX, where Keras keeps it.

    To be called before anything is computed.
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
        f"--strategy {name} needs the backend TensorFlow or JAX. Received: KERAS_BACKEND={backend}. Unset it, or leave "
        "out --strategy."
    )


def log(text: str) -> None:
    """Prints a text to stderr, without markup."""
    _errors.print(escape_control_characters(text), highlight=False, markup=False, soft_wrap=True)


class ProgressBar:
    """A bar on stderr; entered, it gives the function that moves it by a count."""

    def __init__(self, total: int | None, doing: str):
        self._bar = rich.progress.Progress(console=_errors, transient=True, disable=not _errors.is_terminal)
        self._task = self._bar.add_task(doing, total=total)

    def __enter__(self) -> Callable[[int], None]:
        self._bar.start()
        return lambda count: self._bar.advance(self._task, count)

    def __exit__(self, *exception):
        self._bar.stop()
