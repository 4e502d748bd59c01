"""Functions for the command lines of all tasks."""

import argparse
import contextlib
import functools
import itertools
import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import rich.console
import rich.progress

from zoo.corpora.byte_lines import existing_path, read_byte_lines
from zoo.corpora.reading import read_lines
from zoo.distribution.exiting import WorkerFailure, exit_process
from zoo.quiet import start_backend
from zoo.text.terminal import escape_control_characters, join_lines, working, working_console

CORPUS = "data", "columns", "features", "split"  # Arguments of `add_corpus`.
LIMITS = "max_bytes", "max_seconds"  # Arguments of `export`.
_FIRST_CHUNK, _LONGEST_CHUNK, _CHUNK_SECONDS = 32, 4096, 2.0
_errors = rich.console.Console(stderr=True)


def run(parser: argparse.ArgumentParser, arguments: list[str] | None = None) -> int:
    """Runs the command of some arguments; returns its exit status.

    The status is the value that the command returns, 0 if that is None, or 2 for an error of the caller, which is
    printed in one line.
    """
    try:
        status = execute(parser, arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # The reader of the results, such as `head`, has ended.
        _discard_output()
        return 128 + 13  # As if ended by SIGPIPE.
    except (ValueError, OSError, ImportError, FloatingPointError) as error:
        try:
            sys.stdout.flush()
        except OSError:  # As of a full disk.
            _discard_output()
        print(f"error: {escape_control_characters(join_lines(str(error)))}", file=sys.stderr)
        return exit_process(2) if isinstance(error, WorkerFailure) else 2
    except KeyboardInterrupt as interrupt:  # A `TrainingStopped` says what it has saved.
        print(str(interrupt) or "interrupted", file=sys.stderr)
        return getattr(interrupt, "status", 130)


def _discard_output():
    """Closes standard output, so that Python does not fail when it flushes the rest at its exit."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)


def execute(parser: argparse.ArgumentParser, arguments: list[str] | None = None) -> int:
    """Runs the command of some arguments as `run` does, but raises its errors."""
    options = parser.parse_args(arguments)
    if check := getattr(options, "check", None):
        check(options)
    if options.backend:
        with working("starting Keras"):
            start_backend()
    try:
        return options.run(options) or 0
    except KeyboardInterrupt as interrupt:
        if interrupt.args or not options.resumes:
            raise
        raise KeyboardInterrupt("interrupted; the same command continues what it has begun") from interrupt


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], None],
    note: str = "",
    check: Callable[[argparse.Namespace], None] | None = None,
    resumes: bool = False,
    backend: bool = True,
) -> argparse.ArgumentParser:
    """Adds a command that calls `run`; the help text is the docstring of `run`, followed by a note.

    Args:
        commands: The subparsers of all commands.
        name: Name of the command.
        run: Runs the command.
        note: Added to the help text.
        check: Called before the backend starts; raises errors that would otherwise come late.
        resumes: Whether the command, given again, continues an interrupted one.
        backend: Whether Keras is imported before `run`, which takes seconds.
    """
    text = f"{run.__doc__} {note}".strip()
    command = commands.add_parser(name, help=text.replace("%", "%%"), description=text)
    command.set_defaults(run=run, check=check, resumes=resumes, backend=backend)
    return command


def add_corpus(command: argparse.ArgumentParser, prefix: str, file: str, columns: str, features: str) -> Any:
    """Adds the arguments of a corpus; returns their group.

    Args:
        command: Parser of the command.
        prefix: Prefix of their names: "" or "dev-".
        file, columns, features: Help texts: of the data file, its columns, and the features of a tfds data set.
    """
    group = corpus_group(command, prefix)
    group.add_argument(f"--{prefix}data", required=not prefix, help=f"{file}, gzip or not, or tfds:NAME")
    group.add_argument(f"--{prefix}columns", type=int, nargs="+", help=f"columns of {columns}, from 0")
    group.add_argument(f"--{prefix}features", nargs="+", help=f"of a tfds data set: {features}")
    add_split(group, prefix)
    return group


def corpus_group(command: argparse.ArgumentParser, prefix: str) -> Any:
    """Adds the group of the arguments of a corpus, whose names start with the prefix: "" or "dev-"."""
    if prefix:
        return command.add_argument_group("dev corpus", "Selects the weights; must not overlap the training corpus.")
    return command.add_argument_group("corpus")


def add_split(group: Any, prefix: str) -> None:
    """Adds the split of a tfds data set to the group of a corpus."""
    text = "split of a tfds data set, %(default)s by default"
    group.add_argument(f"--{prefix}split", default="validation" if prefix else "train", help=text)


def with_log(reader: Any) -> Any:
    """Returns the reader of a corpus, which now logs its first example and warnings when a task has read it."""
    reader.log = log
    return reader


def given_arguments(options: argparse.Namespace, names: Iterable[str], prefix: str = "") -> dict[str, Any]:
    """Returns the values of the arguments with these names after the prefix, without those that are not given."""
    values = {name: getattr(options, prefix.replace("-", "_") + name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def given_command(task: str) -> str:
    """Returns the command of a task that was given to this process."""
    return f"python -m zoo.{task} {' '.join(sys.argv[1:])}"


def read_texts(options: argparse.Namespace) -> Iterator[str]:
    """Yields the texts of `--text`, or the lines of files or of standard input; checks at once that the files exist."""
    if options.text is not None and options.files:
        raise ValueError(
            f"Pass --text or files, not both. Received: --text and {', '.join(options.files)}. Leave one of both out; "
            "if it was meant for a checkpoint, there is none of this name."
        )
    if options.text is not None:
        return iter(options.text)
    if options.files:
        return (text for path in [*map(_text_file, options.files)] for text in read_lines(path))
    return (text.decode("utf-8", "replace").rstrip("\r\n") for text in sys.stdin.buffer)


def _text_file(path):
    path = existing_path(path)
    if path.is_dir():
        raise ValueError(f"Expected a file of texts. Received: {path}, which is a folder. Pass the files in it.")
    return path


def count_texts(options: argparse.Namespace) -> int | None:
    """Counts what `read_texts` yields; None if that is not known, as for standard input and pipes."""
    if options.text is not None:
        return len(options.text)
    paths = [pathlib.Path(path) for path in options.files]
    if not paths or not all(path.is_file() for path in paths):
        return None
    return sum(1 for path in paths for _ in read_byte_lines(path))


def text_chunks(texts: Iterable[str], options: argparse.Namespace) -> Iterator[list[str]]:
    """Yields texts in lists, which grow while the caller takes less than `_CHUNK_SECONDS` for one.

    Longer lists have more texts of similar lengths, shorter ones give results sooner. What a person types is answered
    line by line.
    """
    typed = options.text is None and not options.files and sys.stdin.isatty()
    texts, size = iter(texts), 1 if typed else _FIRST_CHUNK
    while chunk := [*itertools.islice(texts, size)]:
        start = time.monotonic()
        yield chunk
        if not typed and time.monotonic() - start < _CHUNK_SECONDS:
            size = min(2 * size, _LONGEST_CHUNK)


def check_writable(path: str | None) -> None:
    """Raises `FileNotFoundError` if a file, to be written after minutes of work, has no folder."""
    if path and not pathlib.Path(path).absolute().parent.is_dir():
        raise FileNotFoundError(f"Expected a file in an existing folder. Received: {path}. Create its folder first.")


def make_strategy(name: str | None, cross_device_ops: str | None = None, model_devices: int = 1) -> Any:
    """Returns the `tf.distribute` strategy of `--strategy`; None without one, and on JAX, where Keras stores it.

    Must be called before the first computation.

    Raises:
        ValueError: If the backend has no such strategy, or the strategy no such choice.
    """
    if name is None and cross_device_ops is None and model_devices == 1:
        return None
    import keras

    from zoo.distribution import heartbeats
    from zoo.distribution.cluster import read_cluster

    backend = keras.backend.backend()
    if model_devices != 1 and (name is None or backend != "jax"):
        raise ValueError(
            "--model-devices is for --strategy mirrored on JAX. Received: "
            f"--strategy {name or 'not given'} on {backend}. Set KERAS_BACKEND=jax, or omit it."
        )
    if cross_device_ops is not None and (name, backend) != ("mirrored", "tensorflow"):
        raise ValueError(
            "--cross-device-ops is for --strategy mirrored on TensorFlow. Received: "
            f"--strategy {name or 'not given'} on {backend}. Omit it."
        )
    if backend == "tensorflow":
        from zoo.distribution import on_tensorflow

        if name == "workers":
            strategy = on_tensorflow.multi_worker_strategy()
            heartbeats.start(*read_cluster())
            return strategy
        return on_tensorflow.mirrored_strategy(cross_device_ops)
    if backend == "jax":
        from zoo.distribution.on_jax import set_parallel

        cluster = read_cluster() if name == "workers" else None
        set_parallel(cluster, model_devices)
        return heartbeats.start(*cluster) if cluster else None
    raise ValueError(
        f"--strategy {name} needs the backend TensorFlow or JAX. Received: KERAS_BACKEND={backend}. Unset it, or omit "
        "--strategy."
    )


def log(text: str) -> None:
    """Prints a text to stderr, without markup."""
    console = working_console() or _errors
    console.print(escape_control_characters(text), highlight=False, markup=False, soft_wrap=True)


@contextlib.contextmanager
def progress_bar(
    total: int | None | Callable[[], int | None], description: str, shown: bool = True
) -> Iterator[Callable[[int], None]]:
    """Shows a progress bar on stderr while the block runs; gives the function that advances it by a count.

    Args:
        total: The count at the end, None if it is not known, or a function that returns it.
        description: Text beside the bar.
        shown: Whether to show the bar if stderr is a terminal.
    """
    shown = shown and _errors.is_terminal
    total = (total() if shown else None) if callable(total) else total
    # Without `redirect_stdout`, which would write results to stderr while the bar is there.
    with rich.progress.Progress(console=_errors, transient=True, disable=not shown, redirect_stdout=False) as bar:
        yield functools.partial(bar.advance, bar.add_task(description, total=total))
