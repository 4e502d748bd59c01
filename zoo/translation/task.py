"""The task of translating texts from one language to another."""

import dataclasses
import functools
import itertools
import os
import shutil

import numpy as np

from zoo.config import ModelConfig, NonAutoregressiveConfig, Recipe
from zoo.corpora.augmentation import AugmentedPairs
from zoo.corpora.batching import padding_share, token_batches
from zoo.corpora.encoded_corpus import EncodedCorpus, encode_corpus
from zoo.corpora.inspection import inspect_reader, warn_of_overlap
from zoo.corpora.masked_targets import MaskedTargets
from zoo.corpora.prepared_corpus import PreparedCorpus, check_sides, prepared_vocabulary
from zoo.corpora.sampled_corpus import SampledCorpus
from zoo.reports.outcomes import Outcomes, Shown
from zoo.storage.checkpoints import Checkpoint
from zoo.text.known_words import merge_words, most_frequent_words
from zoo.training import fine_tuning
from zoo.training.digests import check_corpus
from zoo.training.runs import check_settings
from zoo.training.tasks import NOT_TEXT, Evaluation, Task, TrainingData
from zoo.translation.data import PairReader
from zoo.translation.length_loss import parallel_loss
from zoo.translation.metrics import bleu, chrf, sentence_chrf
from zoo.translation.non_autoregressive import NonAutoregressiveTranslator
from zoo.translation.predictor import Translator

_SAMPLED_BATCHES = 500
_DEV_SENTENCES = 1000  # Sentences translated at each evaluation during training; all are scored at the end.


class Translation(Task):
    """Trains and evaluates translators. Corpora are iterables of pairs, such as readers of `zoo.translation.data`.

    The training corpus is iterated repeatedly, or is a `PreparedCorpus`, whose vocabulary is then used. `bleu` in the
    card contains arguments of `zoo.translation.metrics.bleu` for all scores. `initial` must be a translator, or an
    encoder-decoder that `zoo.pretraining` trained.
    """

    predictor_class = Translator
    scores = {"bleu": "BLEU", "loss": "loss"}
    unused = ("lowercase", "token_dropout", "frozen_layers", "layer_decay", "lora_rank", "denoising", *NOT_TEXT)

    def check(self, recipe, initial):
        super().check(recipe, initial)
        if initial is not None and not fine_tuning.shares_all_weights(initial, Translator):
            raise ValueError(
                "`initial` must be a translator, or an encoder-decoder that was pretrained by denoising. Received: "
                f"{type(initial).__name__}. Load a translator."
            )

    def read(self, recipe, train, dev, log):
        check_sides(train, ("source", "target"))
        if isinstance(train, PreparedCorpus):
            check_settings(recipe.training, [*self.scores], ["subword_dropout", "augment", "placeholders"])
        pairs = [*dev]
        inspect_reader(dev, "dev", log)
        dev = pairs
        if not dev:
            raise ValueError("The dev corpus must have pairs to select the best checkpoint. Received: no pair.")
        if not isinstance(train, PreparedCorpus):  # That was inspected when it was prepared.
            warn_of_overlap(train, dev, log)
            inspect_reader(train, "train", log)

        def texts():
            augment = _spelling(recipe.training.augment)
            changed = AugmentedPairs(train, augment, recipe.training.seed).epoch(0) if augment else train
            return itertools.chain.from_iterable(changed)

        def known_words():  # Also words that only an augmentation or the dev set would have are unknown.
            sharded = isinstance(train, PreparedCorpus)
            return "" if sharded else most_frequent_words(itertools.chain.from_iterable(train))

        return TrainingData(train, dev, texts, arguments={"known_words": functools.cache(known_words)})

    def given_vocabulary(self, train, tokenizer):
        return prepared_vocabulary(train, tokenizer)

    def model_config(self, run):
        config = fine_tuning.copy_config(run.initial, run.config, ModelConfig)
        return dataclasses.replace(config, vocabulary_size=run.vocabulary.vocabulary_size)

    def make_predictor(self, model, card, run):
        options = {"max_source_tokens": 128, "split_sentences": True}
        if isinstance(run.initial, Translator):
            searches = [_search(config) for config in (run.initial.model.config, run.config)]
            same = type(run.initial) is self.predictor_class and searches[0] == searches[1]
            kept = self.predictor_class.settings if same else options
            options = {name: getattr(run.initial, name) for name in kept}
        options["max_source_tokens"] = min(options["max_source_tokens"], run.max_tokens)
        if _placeholders(run):
            others = getattr(run.initial, "known_words", "")
            words = merge_words(run.data.arguments["known_words"](), others)
            options |= {"placeholders": True, "known_words": words}
        return self.predictor_class(model, run.vocabulary, card, **options)

    def encode(self, run, tokenizer):
        """Encodes the corpus into memory-mapped files of the run, at each start, to check that it has not changed."""
        train = run.data.train
        if isinstance(train, PreparedCorpus):
            run.log(f"{len(train):,} pairs, prepared")
            return train
        path, fresh = run.folder / "corpus", run.folder / "corpus.new"
        shutil.rmtree(fresh, ignore_errors=True)
        try:
            encoded = encode_corpus(train, tokenizer, max_tokens=run.max_tokens, folder=fresh, limit=run.token_limit[0])
            check_corpus(encoded, run.folder)
        except ValueError:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        shutil.rmtree(path, ignore_errors=True)
        os.replace(fresh, path)
        if isinstance(train, PairReader):
            train.report.too_long = encoded.too_long
        run.log(str(train.report) if isinstance(train, PairReader) else f"{len(encoded):,} pairs")
        return EncodedCorpus.open(path, tokenizer)

    def with_noise(self, corpus, run):
        settings = run.settings
        batches = token_batches(corpus, settings.batch_tokens, seed=settings.seed)
        share = padding_share(itertools.islice(batches, _SAMPLED_BATCHES))
        run.log(f"{100 * share:.1f} % of the positions in batches of {settings.batch_tokens:,} tokens are padding")
        placeholders = _placeholders(run)
        changed = settings.subword_dropout or settings.augment or placeholders
        if not changed or isinstance(run.data.train, PreparedCorpus):
            return corpus
        noise = {"dropout": settings.subword_dropout, "seed": settings.seed}
        noise |= {"max_tokens": run.max_tokens, "folder": run.folder / "corpus"}
        pairs = run.data.train
        if settings.augment or placeholders:
            pairs = AugmentedPairs(pairs, settings.augment, settings.seed, placeholders)
        return SampledCorpus(pairs, run.vocabulary, **noise)

    def clean_up(self, run):
        shutil.rmtree(run.folder / "corpus", ignore_errors=True)

    def dev_figures(self, predictor, run):
        """Computes the loss per token, and BLEU of greedy search on the first 1,000 pairs; logs three translations."""
        loss = predictor.loss(run.data.dev)
        figures = {"dev_loss": loss, "dev_perplexity": float(np.exp(loss))}
        pairs = run.data.dev[:_DEV_SENTENCES]
        third = max(1, -(-len(pairs) // 3))
        step = 1 if run.settings.score == "bleu" else third
        sources, references = zip(*pairs[::step])
        translations = predictor.translate(sources, beam_size=1)
        if run.settings.score == "bleu":
            figures["dev_bleu"] = bleu(translations, references, **predictor.card.get("bleu", {})).value
        for shown in [*zip(sources, translations, references)][:: third // step]:
            run.log("  {}\n    -> {}\n    == {}".format(*shown))
        return {**figures, "score": figures.get("dev_bleu", -loss)}

    def final_evaluation(self, predictor, run):
        """Evaluates by beam search, unless the run is evaluated by its loss."""
        bleu = run.settings.score == "bleu"
        return super().final_evaluation(predictor, run) if bleu else Evaluation([], None, None)

    def examples(self, predictor, data):
        pairs = [*data]
        inspect_reader(data, "corpus")
        if not pairs:
            raise ValueError("There must be at least one pair to evaluate on. Received: none. Check the files.")
        return pairs

    def score(self, predictor, examples, resamples=0, progress=None, **options):
        """Computes BLEU and chrF of translations by beam search.

        `options` are `beam_size` and `length_penalty`, which default to those of the translator, and those of `bleu`,
        which default to those of the card.
        """
        sources, references = zip(*examples)
        search = {name: options.pop(name, None) for name in ("beam_size", "length_penalty")}
        translations = predictor.translate(sources, progress=progress, **search)
        options = {**predictor.card.get("bleu", {}), **options}
        scores = [
            bleu(translations, references, resamples=resamples, **options),
            chrf(translations, references, resamples),
        ]
        outcomes = functools.partial(_outcomes, sources, references, translations)
        return Evaluation(scores, references, translations, outcomes=outcomes)


def _outcomes(sources, references, translations):
    return Outcomes(
        "chrF of the sentence",
        np.array([*map(sentence_chrf, translations, references)]),
        lambda i: Shown(sources[i], references[i], translations[i]),
        np.array([len(source.split()) for source in sources]),
    )


def _placeholders(run):
    """Returns whether the translator uses placeholders: as the settings say, or as the model that is fine-tuned."""
    return run.settings.placeholders or getattr(run.initial, "placeholders", False)


def _search(config):
    """Returns how a model that predicts all tokens at once knows how many there are, and if it can do so repeatedly."""
    return getattr(config, "lengths", None), getattr(config, "imputed", 0.0) > 0


def _spelling(augment):
    """Returns what changes the spelling of words; what a vocabulary is learned from has no random names or typos."""
    others = "typos", "joined", "copies", "names", "titles", "numbers", "dates", "times", "substitutable"
    return dataclasses.replace(augment, **dict.fromkeys(others, 0.0))


class NonAutoregressiveTranslation(Translation):
    """Trains translators that predict all tokens at once, as conditional masked language models.

    They learn best from translations of an autoregressive teacher (Zhou et al. 2020), which `initial` may be, too.
    """

    predictor_class = NonAutoregressiveTranslator
    unused = (*Translation.unused, "r_drop")

    def check(self, recipe, initial):
        super().check(recipe, initial)
        parallel_loss(recipe.model, recipe.training.label_smoothing)  # Checks them.

    def encode(self, run, tokenizer):
        corpus = super().encode(run, tokenizer)
        if run.config.lengths == "aligned":
            source, target = corpus.lengths()  # With the end, which has no position in the target.
            count = int(np.count_nonzero(target - 1 > source * run.config.positions_per_token))
            if count:
                run.log(
                    f"{count:,} of {len(source):,} pairs {'has' if count == 1 else 'have'} more tokens than positions "
                    "and will not be learned; `model.positions_per_token` could be larger"
                )
        return corpus

    def make_loss(self, run, pad_label):
        return parallel_loss(run.config, run.settings.label_smoothing)

    def change_batches(self, batches, step, run):
        return MaskedTargets(batches, run.config, run.settings.seed, step)


def train(recipe: Recipe, *arguments, **options) -> Translator:
    """Trains a translator, which predicts all tokens at once if the recipe's model does; see `Task.train`."""
    parallel = isinstance(recipe.model, NonAutoregressiveConfig)
    return (NonAutoregressiveTranslation() if parallel else Translation()).train(recipe, *arguments, **options)


def from_checkpoint(checkpoint: Checkpoint, dtype: str | None = None) -> Translator:
    """Restores the translator of a checkpoint."""
    parallel = checkpoint.settings.get("decoder") == NonAutoregressiveTranslator.fixed_settings["decoder"]
    return (NonAutoregressiveTranslation() if parallel else Translation()).from_checkpoint(checkpoint, dtype)


evaluate = Translation().evaluate
