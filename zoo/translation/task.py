"""Training a translator: corpus, vocabulary, model, loss, search and score put together."""

import contextlib
import dataclasses
import filecmp
import functools
import itertools
import os
import pathlib
import shutil
import typing
from collections.abc import Callable, Iterable, Sequence

import keras
import numpy as np
from keras import ops

from keras_transformer.training.losses import smoothed_cross_entropy
from zoo.config import PAD_ID, Recipe
from zoo.config_values import to_dict
from zoo.corpora.batching import padding_share, token_batches
from zoo.corpora.encoded_corpus import EncodedCorpus, SampledCorpus, encode_corpus
from zoo.corpora.sharded_corpus import ShardedCorpus
from zoo.distribution.current import workers_of
from zoo.models.compiling import compiled
from zoo.models.seq2seq import Seq2Seq
from zoo.storage.arrays import assign_arrays, named_arrays
from zoo.text.tokenizer import Tokenizer
from zoo.training.runs import check_digest, check_settings, choose_weights, prepare_folder, run_vocabulary, train_model
from zoo.training.scores import Score
from zoo.translation.data import PairReader
from zoo.translation.metrics import bleu, chrf
from zoo.translation.translator import Translator, from_checkpoint

__all__ = ["Translator", "evaluate", "from_checkpoint", "train"]

Pairs = Iterable[tuple[str, str]]
_SAMPLED_BATCHES = 500
_DEV_SENTENCES = 1000  # Translated at each look at the dev set; all of it is scored at the end.
_FOR_OTHERS = ("lowercase", "token_dropout", "frozen_layers", "layer_decay", "lora_rank")
_BEAM_SIZE, _LENGTH_PENALTY = 4, 0.6  # Vaswani et al. (2017), section 6.1.


def train(
    recipe: Recipe,
    train_pairs: Pairs | ShardedCorpus,
    dev_pairs: Pairs,
    folder: str | pathlib.Path,
    card: dict | None = None,
    tokenizer: Tokenizer | None = None,
    initial: Translator | None = None,
    log: Callable[[str], None] = print,
    strategy: typing.Any = None,
) -> Translator:
    """Trains a translator and writes it to `folder/checkpoint`; goes on where an earlier run in `folder` stopped.

    Args:
        recipe: What to train and how. If the corpus gives a smaller vocabulary than asked for, the model is smaller.
        train_pairs, dev_pairs: Corpora that can be run over again, such as the readers of `zoo.translation.data`; the
            first may be a prepared one instead, whose vocabulary is used.
        folder: New, empty, or begun by the same recipe.
        card: What the checkpoint shall say of itself; `bleu` (arguments of `metrics.bleu`) sets the protocol.
        tokenizer: A vocabulary to use; by default one is learned from the training corpus.
        initial: A translator to start from, with its weights and vocabulary, instead of random weights: for
            fine-tuning. Its model must have the sizes of the recipe's.
        log: Told what happens.
        strategy: A `tf.distribute` strategy whose devices share each batch; None for one device. The
            training is the same on any number, and a run may go on with another.

    Raises:
        ValueError: If `folder` holds anything else or was begun with another `tokenizer` or corpus, a corpus has no
            pair, or `initial` has other sizes.
    """
    if initial is not None:
        if not isinstance(initial, Translator):
            raise ValueError(f"`initial` must be a translator. Received: {type(initial).__name__}.")
        _check_sizes(initial.model.config, recipe.model)
        tokenizer = initial.tokenizer
    settings, card = recipe.training, dict(card or {})
    prepared = isinstance(train_pairs, ShardedCorpus)
    check_settings(settings, ("bleu", "loss"), (*_FOR_OTHERS, "subword_dropout") if prepared else _FOR_OTHERS)
    if prepared:
        tokenizer = _prepared_vocabulary(train_pairs, tokenizer)
    workers = workers_of(strategy)
    folder = prepare_folder(folder, recipe, workers)
    texts = functools.partial(itertools.chain.from_iterable, train_pairs)
    tokenizer = run_vocabulary(folder, tokenizer, texts, recipe, workers)
    if prepared:
        check_digest(train_pairs.digest, folder)
        log(f"{len(train_pairs):,} pairs, prepared")
    corpus = train_pairs if prepared else _encode(train_pairs, tokenizer, settings, folder, log)
    dev_pairs = [*dev_pairs]
    if not dev_pairs:
        raise ValueError("The dev corpus has no pair. It decides which checkpoint is kept: give one.")
    keras.utils.set_random_seed(settings.seed)
    config = dataclasses.replace(recipe.model, vocabulary_size=tokenizer.vocabulary_size)
    with strategy.scope() if strategy else contextlib.nullcontext():
        model = Seq2Seq(config, dtype=settings.precision)
        model.build()
        if initial is not None:
            assign_arrays(model, named_arrays(initial.model), "The translator to start from")
    log(f"{model.count_params():,} parameters, vocabulary of {config.vocabulary_size:,}")
    translator = Translator(model, tokenizer, card, max_source_tokens=min(128, settings.max_tokens))
    look = DevSet(dev_pairs, translator, settings.score, card.get("bleu", {}), log)
    candidates = train_model(model, settings, folder, corpus, look, log)
    final = _finish(candidates, look, Seq2Seq(config), translator, recipe, folder, log)
    shutil.rmtree(folder / "corpus", ignore_errors=True)
    return final


def evaluate(
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    beam_size: int = _BEAM_SIZE,
    length_penalty: float = _LENGTH_PENALTY,
    resamples: int = 1000,
    progress: Callable[[int], None] | None = None,
    **bleu_options,
) -> tuple[list[Score], list[str]]:
    """BLEU and chrF of a translator on sentence pairs, with bootstrap intervals, and the translations.

    `bleu_options` default to the protocol on the translator's card.

    Raises:
        ValueError: If there is no pair.
    """
    if not pairs:
        raise ValueError("There must be at least one pair to evaluate on. Received none.")
    sources, references = zip(*pairs)
    hypotheses = translator.translate(sources, beam_size, length_penalty, progress)
    options = {**translator.card.get("bleu", {}), **bleu_options}
    scores = [
        bleu(hypotheses, references, resamples=resamples, **options),
        chrf(hypotheses, references, resamples),
    ]
    return scores, hypotheses


class DevSet:
    """A look at the dev set: its loss per token, its BLEU when translated greedily, three sentences for the eye."""

    def __init__(self, pairs, translator: Translator, score: str, bleu_options: dict, log: Callable[[str], None]):
        self.pairs, self._translator, self._log = pairs, translator, log
        self._score, self._bleu_options = score, bleu_options
        self._batches = [*token_batches(encode_corpus(pairs, translator.tokenizer), 4096, seed=0)]
        self._loss = compiled(translator.model, self._sums)

    def __call__(self, model: keras.Model) -> dict[str, float]:
        """`dev_loss`, `dev_perplexity`, `dev_bleu` (of the first 1,000 sentences) and `score`, higher being better."""
        total, tokens = np.sum([[float(x) for x in self._loss(b["source"], b["target"])] for b in self._batches], 0)
        figures = {"dev_loss": total / tokens, "dev_perplexity": float(np.exp(total / tokens))}
        sources, references = zip(*self.pairs[:_DEV_SENTENCES])
        hypotheses = self._translator.translate(sources, beam_size=1)
        if self._score == "bleu":
            figures["dev_bleu"] = bleu(hypotheses, references, **self._bleu_options).value
        for i in (0, len(sources) // 3, 2 * len(sources) // 3):
            self._log(f"  {sources[i]}\n    -> {hypotheses[i]}\n    == {references[i]}")
        return {**figures, "score": figures.get("dev_bleu", -figures["dev_loss"])}

    def _sums(self, source, target):
        labels = target[:, 1:]
        logits = self._translator.model({"source": source, "target": target[:, :-1]}, training=False)
        real = ops.cast(ops.not_equal(labels, PAD_ID), "float32")
        return ops.sum(smoothed_cross_entropy(labels, logits) * real), ops.sum(real)


def _finish(candidates, look, model, translator, recipe, folder, log):
    """Keeps the weights that score best on the dev set, scores the dev set by beam search, writes all."""
    chosen = choose_weights(translator.model, candidates, look, log)
    model.build()
    assign_arrays(model, candidates[chosen], chosen)
    card = {**translator.card, "recipe": to_dict(recipe), "seed": recipe.training.seed, "weights": chosen}
    final = Translator(model, translator.tokenizer, card, translator.max_source_tokens)
    if recipe.training.score == "bleu":
        results, _ = evaluate(final, look.pairs)
        search = {"beam_size": _BEAM_SIZE, "length_penalty": _LENGTH_PENALTY}
        final.card["scores"] = [{**score._asdict(), "data": "dev", **search} for score in results]
        for score in results:
            log(f"dev: {score}")
    final.save(folder / "checkpoint")
    return final


def _check_sizes(initial, asked):
    """Rates may change in fine-tuning; sizes may not, but for the vocabulary's, which is that of the tokenizer."""
    names = [f.name for f in dataclasses.fields(asked) if f.type is not float and f.name != "vocabulary_size"]
    different = [name for name in names if getattr(initial, name) != getattr(asked, name)]
    if different:
        values = ", ".join(f"{name} was {getattr(initial, name)}" for name in different)
        raise ValueError(
            f"The translator to start from has other sizes than the recipe: {values}. Choose its recipe, or set them."
        )


def _prepared_vocabulary(corpus, tokenizer):
    if tokenizer is not None and tokenizer.digest != corpus.tokenizer.digest:
        raise ValueError("The corpus was prepared with another vocabulary than the one given. Leave that out.")
    return corpus.tokenizer


def _encode(pairs, tokenizer, settings, folder, log):
    """The corpus in memory-mapped files of the run, encoded anew at each start to see whether it is the same."""
    path, fresh = folder / "corpus", folder / "corpus.new"
    shutil.rmtree(fresh, ignore_errors=True)
    encoded = encode_corpus(pairs, tokenizer, max_tokens=settings.max_tokens, folder=fresh)
    log(_describe(pairs, encoded))
    if path.exists():
        begun, found = (len(EncodedCorpus.open(place)) for place in (path, fresh))
        same = all(filecmp.cmp(file, fresh / file.name, shallow=False) for file in path.iterdir() if file.is_file())
        shutil.rmtree(fresh)
        if not same:
            raise ValueError(
                f"{folder} was begun with another corpus, of {begun:,} pairs. Received: {found:,} pairs. "
                "Use that one to go on, or another folder; nothing was changed."
            )
    else:
        os.replace(fresh, path)
    encoded = EncodedCorpus.open(path, tokenizer)
    batches = token_batches(encoded, settings.batch_tokens, seed=settings.seed)
    share = padding_share(itertools.islice(batches, _SAMPLED_BATCHES))
    log(f"{100 * share:.1f} % of the positions in batches of {settings.batch_tokens:,} tokens are padding")
    if not settings.subword_dropout:
        return encoded
    return SampledCorpus(
        pairs,
        tokenizer,
        dropout=settings.subword_dropout,
        seed=settings.seed,
        max_tokens=settings.max_tokens,
        folder=path,
    )


def _describe(pairs, encoded):
    if not isinstance(pairs, PairReader):
        return f"{len(encoded):,} pairs"
    pairs.report.too_long = encoded.too_long
    return str(pairs.report)
