"""The formats of the command `export`: a SavedModel from texts on, or the model alone for other runtimes."""

import argparse
from typing import Any

from zoo.conversion.runtime_formats import FORMATS

_COMMON = "checkpoint", "output", "format", "quantization"


def add_format(command: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    """Adds `--format` and, if there are several, `--quantization` to `export`; must come after its other arguments.

    Args:
        command: The parser of the command.
        formats: Names in `zoo.conversion.runtime_formats.FORMATS`; empty for SavedModels only.
    """
    if not formats:
        text = "%(default)s is the default, and the only format of this task"
        command.add_argument("--format", choices=["saved_model"], default="saved_model", help=text)
        return
    names = " and ".join([", ".join(formats[:-1])] * (len(formats) > 1) + [formats[-1]])
    text = f"%(default)s by default, with what surrounds the model; {names}: the model alone for these runtimes"
    command.add_argument("--format", choices=["saved_model", *formats], default="saved_model", help=text)
    known = dict.fromkeys(kind for name in formats for kind in FORMATS[name].quantizations)
    text = f"of the matrices, with {names}; float32 by default"
    command.add_argument("--quantization", choices=[*known], help=text)
    command.set_defaults(default_of=command.get_default)


def is_saved_model(options: argparse.Namespace) -> bool:
    """Returns whether the chosen format is a SavedModel, which is all that some tasks write."""
    return options.format == "saved_model"


def check_format(options: argparse.Namespace) -> None:
    """Refuses options that mean nothing for the format of `export`; checks that its packages are installed.

    Raises:
        ValueError: If an option is one of SavedModels, or `--checkpoint` has several names for another format.
        ImportError: If a package is missing.
    """
    chosen = getattr(options, "quantization", None)
    if chosen and (is_saved_model(options) or chosen not in FORMATS[options.format].quantizations):
        known = (name for name, found in FORMATS.items() if chosen in found.quantizations)
        raise ValueError(
            f"--quantization {chosen} is for --format {', '.join(known)}. Received: --format {options.format}. "
            "Leave it out, or choose another format."
        )
    if is_saved_model(options):
        return
    own = {name: value for name, value in vars(options).items() if name not in (*_COMMON, "default_of")}
    given = [f"--{name.replace('_', '-')}" for name, value in own.items() if value != options.default_of(name)]
    given += ["several checkpoints"] * (isinstance(options.checkpoint, list) and len(options.checkpoint) > 1)
    if given:
        raise ValueError(
            f"--format {options.format} writes one model without what surrounds it: texts, searches, limits. "
            f"Received: {given[0]}. Leave it out."
        )
    FORMATS[options.format].require()


def write_format(predictor: Any, options: argparse.Namespace) -> None:
    """Writes a predictor's model in the format of `export` that is no SavedModel."""
    if options.format == "ctranslate2":
        from zoo.conversion.to_ctranslate2 import write_ctranslate2

        write_ctranslate2(predictor, options.output, options.quantization)
    else:
        from zoo.conversion.to_runtimes import write_runtime

        write_runtime(predictor, options.output, options.format, options.quantization)
