"""The task of translating texts from one language to another."""

import dataclasses
import itertools
import os
import shutil
from collections.abc import Callable

import keras
import numpy as np
from keras import ops

from keras_transformer.training.losses import smoothed_cross_entropy
from zoo.config import PAD_ID
from zoo.corpora.batching import padding_share, token_batches
from zoo.corpora.encoded_corpus import EncodedCorpus, SampledCorpus, encode_corpus
from zoo.corpora.sharded_corpus import ShardedCorpus
from zoo.models.compiling import compile_function
from zoo.training.runs import check_corpus, check_settings
from zoo.training.tasks import Evaluation, Task, TrainingData
from zoo.training.trainer import teacher_forced
from zoo.translation.data import PairReader
from zoo.translation.metrics import bleu, chrf
from zoo.translation.predictor import Translator

_SAMPLED_BATCHES = 500
_DEV_SENTENCES = 1000  # Sentences translated at each evaluation during training; all are scored at the end.
_SEARCH = {"beam_size": 4, "length_penalty": 0.6}  # Vaswani et al. (2017), section 6.1.


class Translation(Task):
    """Trains and evaluates translators. Corpora are iterables of pairs, such as readers of `zoo.translation.data`.

    The training corpus is iterated repeatedly, or is a `ShardedCorpus`, whose vocabulary is then used. `bleu` in the
    card contains arguments of `zoo.translation.metrics.bleu` for all scores. `initial` must be a translator with the
    sizes of the recipe.
    """

    predictor_class = Translator
    scores = {"bleu": "BLEU", "loss": "loss"}
    unused = ("lowercase", "token_dropout", "frozen_layers", "layer_decay", "lora_rank")
    split, pad_label = staticmethod(teacher_forced), PAD_ID

    def check(self, recipe, initial):
        super().check(recipe, initial)
        if initial is None:
            return
        if not isinstance(initial, Translator):
            raise ValueError(f"`initial` must be a translator. Received: {type(initial).__name__}. Load a translator.")
        # Rates may change in fine-tuning, but sizes may not, except that of the vocabulary, which is `initial`'s.
        fields, sizes = dataclasses.fields(recipe.model), initial.model.config
        names = [field.name for field in fields if field.type is not float and field.name != "vocabulary_size"]
        different = [name for name in names if getattr(sizes, name) != getattr(recipe.model, name)]
        if different:
            values = ", ".join(f"{name} was {getattr(sizes, name)}" for name in different)
            raise ValueError(
                f"`initial` must have the sizes of the recipe. Received: {values}. Choose its recipe, or set them."
            )

    def read(self, recipe, train, dev, log):
        if isinstance(train, ShardedCorpus):
            check_settings(recipe.training, [*self.scores], ["subword_dropout"])
        dev = [*dev]
        if not dev:
            raise ValueError("The dev corpus must have pairs to select the best checkpoint. Received: no pair.")
        return TrainingData(train, dev, lambda: itertools.chain.from_iterable(train))

    def given_vocabulary(self, train, tokenizer):
        if not isinstance(train, ShardedCorpus):
            return tokenizer
        if tokenizer is not None and tokenizer.digest != train.tokenizer.digest:
            raise ValueError(
                f"A prepared corpus is used with its own vocabulary, {train.tokenizer.digest[:8]}. Received: another "
                f"vocabulary, {tokenizer.digest[:8]}. Leave it out."
            )
        return train.tokenizer

    def model_config(self, recipe, data, vocabulary, initial):
        return dataclasses.replace(recipe.model, vocabulary_size=vocabulary.vocabulary_size)

    def make_predictor(self, model, vocabulary, data, card, settings, max_tokens):
        return Translator(model, vocabulary, card, max_source_tokens=min(128, max_tokens))

    def encode(self, data, tokenizer, config, max_tokens, folder, log):
        """Encodes the corpus into memory-mapped files in `folder`, at each start, to check that it has not changed."""
        if isinstance(data.train, ShardedCorpus):
            log(f"{len(data.train):,} pairs, prepared")
            return data.train
        path, fresh = folder / "corpus", folder / "corpus.new"
        shutil.rmtree(fresh, ignore_errors=True)
        try:
            encoded = encode_corpus(data.train, tokenizer, max_tokens=max_tokens, folder=fresh)
            check_corpus(encoded, folder)
        except ValueError:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        shutil.rmtree(path, ignore_errors=True)
        os.replace(fresh, path)
        if isinstance(data.train, PairReader):
            data.train.report.too_long = encoded.too_long
            log(str(data.train.report))
        else:
            log(f"{len(encoded):,} pairs")
        return EncodedCorpus.open(path, tokenizer)

    def with_noise(self, corpus, data, encode, tokenizer, settings, folder, log):
        batches = token_batches(corpus, settings.batch_tokens, seed=settings.seed)
        share = padding_share(itertools.islice(batches, _SAMPLED_BATCHES))
        log(f"{100 * share:.1f} % of the positions in batches of {settings.batch_tokens:,} tokens are padding")
        if not settings.subword_dropout:
            return corpus
        noise = {"dropout": settings.subword_dropout, "seed": settings.seed}
        return SampledCorpus(data.train, tokenizer, **noise, max_tokens=settings.max_tokens, folder=folder / "corpus")

    def clean_up(self, folder):
        shutil.rmtree(folder / "corpus", ignore_errors=True)

    def dev_set(self, predictor, data, settings, log):
        return DevSet(data.dev, predictor, settings.score, log)

    def final_scores(self, predictor, data, settings):
        """Computes scores by beam search, unless the run is evaluated by its loss."""
        if settings.score != "bleu":
            return []
        scores = self.score(predictor, data.dev, resamples=1000).scores
        return [{**score._asdict(), **_SEARCH} for score in scores]

    def examples(self, predictor, data):
        if not (pairs := [*data]):
            raise ValueError("There must be at least one pair to evaluate on. Received: none. Check the files.")
        return pairs

    def score(
        self,
        predictor,
        examples,
        resamples=0,
        progress=None,
        beam_size=_SEARCH["beam_size"],
        length_penalty=_SEARCH["length_penalty"],
        **bleu_options,
    ):
        """Computes BLEU and chrF of translations by beam search; `bleu_options` default to those of the card."""
        sources, references = zip(*examples)
        translations = predictor.translate(sources, beam_size, length_penalty, progress)
        options = {**predictor.card.get("bleu", {}), **bleu_options}
        scores = [
            bleu(translations, references, resamples=resamples, **options),
            chrf(translations, references, resamples),
        ]
        return Evaluation(scores, references, translations)


class DevSet:
    """Evaluates a model during training: loss per token, BLEU of greedy search, three logged translations."""

    def __init__(self, pairs, translator: Translator, score: str, log: Callable[[str], None]):
        self.pairs, self._translator, self._score, self._log = pairs, translator, score, log
        self._batches = [*token_batches(encode_corpus(pairs, translator.tokenizer), 4096, seed=0)]
        self._loss = compile_function(translator.model, self._sums)

    def __call__(self, model: keras.Model) -> dict[str, float]:
        """Returns `dev_loss`, `dev_perplexity`, `dev_bleu` of the first 1,000 sentences, and `score`."""
        total, tokens = np.sum([[float(x) for x in self._loss(b["source"], b["target"])] for b in self._batches], 0)
        figures = {"dev_loss": total / tokens, "dev_perplexity": float(np.exp(total / tokens))}
        sources, references = zip(*self.pairs[:_DEV_SENTENCES])
        translations = self._translator.translate(sources, beam_size=1)
        if self._score == "bleu":
            figures["dev_bleu"] = bleu(translations, references, **self._translator.card.get("bleu", {})).value
        for i in (0, len(sources) // 3, 2 * len(sources) // 3):
            self._log(f"  {sources[i]}\n    -> {translations[i]}\n    == {references[i]}")
        return {**figures, "score": figures.get("dev_bleu", -figures["dev_loss"])}

    def _sums(self, source, target):
        labels = target[:, 1:]
        logits = self._translator.model({"source": source, "target": target[:, :-1]}, training=False)
        real = ops.cast(ops.not_equal(labels, PAD_ID), "float32")
        return ops.sum(smoothed_cross_entropy(labels, logits) * real), ops.sum(real)


_task = Translation()
train, evaluate, from_checkpoint = _task.train, _task.evaluate, _task.from_checkpoint
