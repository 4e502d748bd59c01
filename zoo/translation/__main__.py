"""Command line: `python -m zoo.translation vocabulary | prepare | train | evaluate | translate | export`."""

import argparse
import os
import pathlib
import sys

from zoo.commands import command_line
from zoo.commands.command_line import ProgressBar, add_command, corpus, log
from zoo.text.terminal import answer, line
from zoo.translation.data import open_pairs
from zoo.translation.recipes import RECIPES

DEFAULT_CHECKPOINT = "translation/tatoeba-en-de"


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit status: 2 for what the caller can mend, told in one line."""
    return command_line.run(_parser(), arguments)


def run_vocabulary(options) -> None:
    """Learns a joint vocabulary from a parallel corpus."""
    from zoo.text.tokenizer import train_tokenizer

    pairs = _corpus(options)
    tokenizer = train_tokenizer((text for pair in pairs for text in pair), options.size)
    tokenizer.save(options.output)
    print(f"{pairs.report}\n{tokenizer.vocabulary_size} pieces in {options.output}", file=sys.stderr)


def run_prepare(options) -> None:
    """Encodes a parallel corpus of any size into shards, once, for trainings to map; goes on after an interruption."""
    from zoo.corpora.sharded_corpus import prepare_corpus
    from zoo.text.tokenizer import Tokenizer

    pairs = _corpus(options)
    with ProgressBar(None, "encoding") as advance:
        corpus = prepare_corpus(
            pairs,
            Tokenizer.load(options.vocabulary),
            options.output,
            max_tokens=options.max_tokens,
            shard_pairs=options.shard_pairs,
            processes=options.processes or os.cpu_count(),
            progress=advance,
        )
    pairs.report.too_long = corpus.too_long
    log(f"{pairs.report}\n{len(corpus):,} pairs in {options.output}")


def run_train(options) -> None:
    """Trains a translator, or goes on with one."""
    from zoo.corpora.sharded_corpus import ShardedCorpus, is_prepared
    from zoo.translation import task

    dev = _corpus(options, "dev-")
    arguments = command_line.training(options, RECIPES, "zoo.translation")
    arguments["card"].setdefault("bleu", {"tokenize": options.tokenize, "lowercase": options.lowercase})
    pairs = ShardedCorpus.open(options.data) if is_prepared(options.data) else _corpus(options)
    task.train(train_pairs=pairs, dev_pairs=dev, **arguments)
    arguments["log"](f"written: {pathlib.Path(options.output) / 'checkpoint'}")


def run_evaluate(options) -> None:
    """Prints BLEU and chrF with their 95 % intervals and signatures."""
    import zoo
    from zoo.translation import task

    pairs = [*_corpus(options)]
    protocol = {
        name: getattr(options, name) for name in ("tokenize", "lowercase") if getattr(options, name) is not None
    }
    with ProgressBar(len(pairs), "translating") as advance:
        scores, hypotheses = task.evaluate(
            zoo.load(options.checkpoint),
            pairs,
            options.beam_size,
            options.length_penalty,
            progress=advance,
            **protocol,
        )
    if options.hypotheses:
        pathlib.Path(options.hypotheses).write_text("".join(f"{line(text)}\n" for text in hypotheses), "utf-8")
    for score in scores:
        print(score)


def run_translate(options) -> None:
    """Translates standard input or files, line for line, to standard output."""
    import zoo

    lines = command_line.texts(options)
    translator = zoo.load(options.checkpoint)
    with ProgressBar(len(lines), "translating") as advance:
        found = translator.n_best(
            lines, options.n_best, max(options.beam_size, options.n_best), options.length_penalty, advance
        )
    for text, candidates in zip(lines, found):
        for candidate in candidates:
            columns = [line(candidate.text)]
            if options.n_best > 1:
                columns.insert(0, f"{candidate.score:.4f}")
            if options.alignments:
                links = translator.align([text], [candidate.text])[0].links
                columns.append(" ".join(f"{source}-{target}" for source, target in links))
            answer("\t".join(columns))


def run_export(options) -> None:
    """Writes a SavedModel that takes text and returns text; with a corpus, also scores it."""
    import zoo

    given = options.data or options.source or options.target
    card = zoo.load(options.checkpoint).export(
        options.output,
        beam_size=options.beam_size,
        length_penalty=options.length_penalty,
        num_return=options.n_best,
        alignments=options.alignments,
        text=not options.ids_only,
        pairs=[*_corpus(options)] if given else (),
        **command_line.limits(options),
    )
    for score in card["exported_scores"]:
        print("{metric} {value:.2f} ± {interval:.2f}  {signature}".format(**score))
    log(f"written: {options.output}")


def _parser():
    parser = argparse.ArgumentParser(prog="python -m zoo.translation", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    vocabulary = add_command(commands, "vocabulary", run_vocabulary)
    _add_corpus(vocabulary)
    vocabulary.add_argument("--size", type=int, default=8000, help="pieces wanted")
    vocabulary.add_argument("--output", required=True, help="file to write")

    prepare = add_command(commands, "prepare", run_prepare)
    _add_corpus(prepare)
    prepare.add_argument("--vocabulary", required=True, help="of `vocabulary`")
    prepare.add_argument("--max-tokens", type=int, default=256, help="longer pairs are left out; 0 leaves out none")
    prepare.add_argument("--shard-pairs", type=int, default=250_000, help="pairs read into a shard")
    prepare.add_argument("--processes", type=int, default=0, help="how many encode; 0: as many as there are cores")
    prepare.add_argument("--output", required=True, help="folder to write")

    train = add_command(commands, "train", run_train)
    _add_corpus(train, others=" or a folder of `prepare`,")
    _add_corpus(train, "dev-")
    command_line.add_training(train, RECIPES)
    train.add_argument("--tokenize", default="13a", help="sacrebleu's tokeniser; none for text tokenised already")
    train.add_argument("--lowercase", action="store_true", help="score without case")

    evaluate = add_command(commands, "evaluate", run_evaluate)
    _add_checkpoint(evaluate)
    _add_corpus(evaluate)
    evaluate.add_argument("--tokenize", help="sacrebleu's tokeniser; the card's by default")
    evaluate.add_argument("--lowercase", action="store_true", default=None, help="score without case")
    evaluate.add_argument("--hypotheses", help="file for the translations")

    translate = add_command(commands, "translate", run_translate)
    _add_checkpoint(translate)
    command_line.add_texts(translate)
    translate.add_argument("--n-best", type=int, default=1, help="translations of each line, with their scores")
    translate.add_argument("--alignments", action="store_true", help="add pairs of word numbers, source-target")

    export = add_command(commands, "export", run_export)
    _add_checkpoint(export)
    _add_corpus(export)
    export.add_argument("--output", required=True, help="folder to write")
    export.add_argument("--n-best", type=int, default=1, help="translations of each text")
    export.add_argument("--alignments", action="store_true", help="word alignments as well")
    command_line.add_limits(export)
    export.add_argument("--ids-only", action="store_true", help="token ids in and out, without tensorflow-text")
    return parser


def _add_corpus(command, prefix="", others=""):
    group = command.add_argument_group(f"{prefix or 'training '}corpus".replace("-", " "))
    group.add_argument(f"--{prefix}source", help="text file, a sentence a line, gzip or not")
    group.add_argument(f"--{prefix}target", help="its translation, line for line")
    group.add_argument(f"--{prefix}data", help=f"instead: a tab-separated file,{others} or tfds:NAME")
    group.add_argument(f"--{prefix}columns", type=int, nargs=2, default=(0, 1), help="source and target column, from 0")
    group.add_argument(f"--{prefix}languages", nargs=2, help="source and target feature of a tfds data set")
    group.add_argument(f"--{prefix}split", default="train" if not prefix else "validation", help="of a tfds data set")


def _add_checkpoint(command):
    command.add_argument("--checkpoint", default=DEFAULT_CHECKPOINT, help="name or folder")
    command.add_argument("--beam-size", type=int, default=4)
    command.add_argument("--length-penalty", type=float, default=0.6, help="alpha of GNMT's length penalty")


def _corpus(options, prefix=""):
    return open_pairs(**corpus(options, prefix, ("source", "target", "data", "columns", "languages", "split")))


if __name__ == "__main__":
    sys.exit(main())
