"""The command `convert`: checkpoints from the folders of Hugging Face models, and the reverse."""

import argparse

import zoo
from zoo.commands.card_values import read_card_values
from zoo.commands.command_line import log
from zoo.storage import checkpoints
from zoo.storage.arrays import check_new_folder
from zoo.storage.packing import DTYPES
from zoo.text.terminal import working


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `convert`."""
    text = "folder with config.json, weights and vocabulary of a Hugging Face model; or a checkpoint, with --format"
    command.add_argument("model", metavar="MODEL", help=text)
    text = "what is written: a checkpoint of this package, by default, or a folder for transformers"
    command.add_argument("--format", choices=("checkpoint", "huggingface"), default="checkpoint", help=text)
    text = "language to translate into, such as fra, for a translator of several"
    command.add_argument("--target-language", metavar="L", help=text)
    text = (
        'text before each input of a T5, such as "translate English to German: "; by default they have one themselves'
    )
    command.add_argument("--prefix", metavar="TEXT", help=text)
    command.add_argument("--pairs", action="store_true", help="a BERT classifier reads pairs of texts")
    command.add_argument("--dtype", choices=DTYPES, help="how weights are stored: %(choices)s; float32 by default")
    command.add_argument("--card", help="JSON with values for the card, such as the licence of the weights")
    command.add_argument("--output", required=True, help="folder to write")


def run_convert(options: argparse.Namespace) -> None:
    """Writes a checkpoint from a Hugging Face folder: BERT, RoBERTa, GPT-2, T5, Marian, ViT; or the reverse."""
    given = {name: getattr(options, name) for name in ("target_language", "prefix", "pairs") if getattr(options, name)}
    check_new_folder(options.output)
    if options.format == "huggingface":
        if given or options.card or options.dtype:
            raise ValueError(
                "Options other than --output are for checkpoints. Received: one of them, and --format huggingface, "
                "too. Leave them out."
            )
        _write_folder(options)
    else:
        _write_checkpoint(options, given)


def _write_folder(options):
    from zoo.conversion.to_hugging_face import write_hugging_face

    with working(f"converting {options.model}"):
        left_out = write_hugging_face(zoo.load(options.model), options.output)
    if left_out:
        log(f"left out: {', '.join(left_out)}; a BertModel is the encoder of {options.model} alone")
    log(f"written: {options.output}")


def _write_checkpoint(options, given):
    from zoo.conversion.hugging_face import load_folder

    if checkpoints.is_local_checkpoint(options.model):
        raise ValueError(
            f"`convert` reads the folder of a Hugging Face model. Received: {options.model}, which is a checkpoint "
            "already. Use it as it is, or pass --format huggingface to write it for transformers."
        )
    values = read_card_values(options.card)
    with working(f"converting {options.model}"):
        predictor = load_folder(options.model, **given)
    predictor.card |= values
    card = predictor.save(options.output, options.dtype or "float32")
    log(f"written: {options.output}, {card['task']}, {card['parameters']:,} parameters")
