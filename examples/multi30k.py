"""Multi30k English to German or French with 2.3 million parameters, scored as in Wu et al. (2021).

    export KERAS_TRANSFORMER_DATA=...   # holds translation/multi30k/tok/*.lc.norm.tok.{en,de,fr}.gz
    python examples/multi30k.py --output runs/multi30k
    python examples/multi30k.py --language fr --output runs/multi30k-fr

Text: the organisers' lower-cased, normalised, tokenised files. Score: tokenised, lower-cased BLEU on test2016
(sacrebleu's tokeniser "none"), beam 5; published: 41.02 and 61.80. Everything is chosen on the validation set, the
length penalty at the end of each run too.

One training takes 78 minutes on two CPU cores with AVX-512 bfloat16 and `--set training.precision=mixed_bfloat16`;
an interrupted one goes on when started again. `--initial` starts from a checkpoint instead of random weights;
examples/multi30k.sh makes the shipped checkpoint with it, in four trainings. After a checkpoint of other languages, a
vocabulary is learned anew, and subwords that both have keep their vectors.
`--smoke` runs two steps of a smaller model on the same files in seconds.
"""

import argparse
import os
import pathlib
import tempfile

import zoo
from zoo.config_values import override
from zoo.extras import exit_without
from zoo.text.tokenizer_training import train_tokenizer
from zoo.translation import task
from zoo.translation.data import ParallelText
from zoo.translation.recipes import TINY

CARD = {
    "data": "Multi30k, task 1, training set (29,000 pairs), the organisers' tokenised lower-cased files",
    "licence": "research, non-commercial (Flickr30k captions; Elliott et al. 2016)",
    "licence_short": "non-commercial",
    "text": "Moses-tokenised, lower-cased, normalised, in and out",
    "bleu": {"tokenize": "none", "lowercase": True},
}
LENGTH_PENALTIES = (0.6, 1.0, 1.4, 1.8)
SMOKE = [
    *(
        "model.vocabulary_size=700",
        "model.hidden_dim=16",
        "model.num_encoder_layers=1",
        "model.num_decoder_layers=1",
    ),
    *("training.cooldown_steps=0", "training.steps=2", "training.evaluate_every=2"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("KERAS_TRANSFORMER_DATA"), help="folder of the corpora")
    parser.add_argument("--output", default="runs/multi30k", help="folder of the run")
    parser.add_argument("--initial", help="checkpoint to go on from, with its vocabulary, by a new schedule")
    parser.add_argument("--language", choices=("de", "fr"), default="de", help="beside English, de by default")
    parser.add_argument("--reverse", action="store_true", help="from that language to English")
    parser.add_argument(
        "--more", nargs=2, action="append", default=[], metavar=("SOURCE", "TARGET"), help="files to train on as well"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change the recipe")
    parser.add_argument("--smoke", action="store_true", help="two steps, to see that it runs")
    options = parser.parse_args()
    exit_without("This example", "sacrebleu")
    if not options.data:
        parser.error("where are the corpora? Use --data or KERAS_TRANSFORMER_DATA")

    languages = (options.language, "en") if options.reverse else ("en", options.language)
    tok = pathlib.Path(options.data) / "translation" / "multi30k" / "tok"
    splits = {
        split: ParallelText(*(tok / f"{split}.lc.norm.tok.{language}.gz" for language in languages))
        for split in ("train", "val", "test2016")
    }
    recipe = override(TINY, [f"training.seed={options.seed}", *options.set, *(SMOKE if options.smoke else [])])
    if options.smoke:
        sizes = {"train": 200, "val": 20, "test2016": 20}
        splits = {split: [pair for pair, _ in zip(pairs, range(sizes[split]))] for split, pairs in splits.items()}
    source, target = languages
    card = {"name": f"translation/multi30k-{source}-{target}", "source_language": source, "target_language": target}
    card |= CARD
    if options.more:
        more = (pair for files in options.more for pair in ParallelText(*files))
        splits["train"] = [*splits["train"], *more]
        card["data"] += "; and the further files of the command"
    initial, tokenizer = zoo.load(options.initial) if options.initial else None, None
    known = {initial.card.get(f"{side}_language") for side in ("source", "target")} if initial else set()
    if known - {None, *languages}:
        texts = (text for pair in splits["train"] for text in pair)
        tokenizer = train_tokenizer(texts, recipe.model.vocabulary_size)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary if options.smoke else options.output)
        translator = task.train(recipe, splits["train"], splits["val"], folder, card, tokenizer, initial)
        penalties = LENGTH_PENALTIES[: 1 if options.smoke else None]
        val = [score(translator, splits["val"], "val", penalty) for penalty in penalties]
        best = max(val, key=lambda result: result["value"])
        test = score(translator, splits["test2016"], "test2016", best["length_penalty"])
        start = [f"--initial {options.initial}"] if options.initial else []
        start += [f"--language {options.language}"] * (options.language != "de") + ["--reverse"] * options.reverse
        start += [f"--more {' '.join(files)}" for files in options.more]
        changes = [f"--set {change}" for change in options.set]
        command = " ".join(["python examples/multi30k.py", *start, f"--seed {options.seed}", *changes])
        translator.beam_size, translator.length_penalty = best["beam_size"], best["length_penalty"]
        translator.card |= {"scores": [best, test], "command": command}
        translator.save(folder / "half-precision", dtype="float16")


def score(translator, pairs, name, length_penalty):
    """BLEU with beam 5, printed, and as an entry of the card."""
    bleu, _ = task.evaluate(translator, pairs, beam_size=5, length_penalty=length_penalty).scores
    print(f"{name}, length penalty {length_penalty}: {bleu}")
    return {**bleu._asdict(), "data": f"Multi30k {name}", "beam_size": 5, "length_penalty": length_penalty}


if __name__ == "__main__":
    main()
