"""The task of predicting the next token of plain texts."""

import dataclasses
import functools

import numpy as np

from zoo.config import LanguageModelConfig
from zoo.corpora.inspection import inspect_reader, warn_of_overlap
from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.corpora.prepared_corpus import PreparedCorpus, check_sides, encoded_rows, prepared_vocabulary
from zoo.language_modelling.predictor import TextGenerator, frame, pack
from zoo.language_modelling.scoring import bits_per_character
from zoo.reports.outcomes import Outcomes, Shown
from zoo.text.tokenizer import NUM_SPECIAL_IDS
from zoo.training import fine_tuning
from zoo.training.scores import bootstrap_scores
from zoo.training.tasks import Evaluation, Task, TrainingData

_LEAST_EXPECTED = 5  # Tokens of a window that a report names.


class LanguageModelling(Task):
    """Trains and evaluates language models. Corpora are iterables of documents, such as
    `zoo.language_modelling.data.open_documents` returns.

    With one document, rows are parts of it. With several, each begins and ends with an end token, rows hold parts of
    several, and no token sees another document.
    """

    predictor_class = TextGenerator
    scores = {"loss": "loss"}
    unused = (*Task.unused, "case_markup", "token_dropout", "frozen_layers", "layer_decay", "lora_rank")

    def check(self, recipe, initial):
        super().check(recipe, initial)
        if not isinstance(initial, TextGenerator | None):
            raise ValueError(
                f"`initial` must be a language model. Received: {type(initial).__name__}. Load a language model."
            )

    def read(self, recipe, train, dev, log):
        check_sides(train, ("text",))
        prepared = isinstance(train, PreparedCorpus)
        texts, count = [*dev], len(train) if prepared else sum(1 for _ in train)
        if not (texts and count):
            raise ValueError(
                "There must be training texts, and dev texts to select the best checkpoint. Received: none in one of "
                "the corpora. Check the files."
            )
        for corpus, name in ((train, "train"), (dev, "dev")):
            inspect_reader(corpus, name, log)
        if not prepared:
            warn_of_overlap(train, texts, log)
        arguments = {"documents": count > 1}

        def lines():
            return (line for text in train for line in text.splitlines(keepends=True))

        return TrainingData(train, texts, lines, arguments=arguments, vocabulary={"whole_texts": True})

    def given_vocabulary(self, train, tokenizer):
        tokenizer = prepared_vocabulary(train, tokenizer)
        if tokenizer is not None and not getattr(tokenizer, "whole_texts", False):
            raise ValueError(
                "The vocabulary of a language model must encode texts as they are, with all spaces. Received: one that "
                "does not. Leave it out, or use that of another language model."
            )
        return tokenizer

    def model_config(self, run):
        config = fine_tuning.copy_config(run.initial, run.config, LanguageModelConfig)
        return dataclasses.replace(config, vocabulary_size=run.vocabulary.vocabulary_size)

    def encode(self, run, tokenizer):
        framed = run.data.arguments["documents"]
        rows = frame(encoded_rows(run.data.train, tokenizer), framed)
        corpus = pack(rows, run.max_tokens, framed, run.settings.seed)
        run.log(f"train: {len(rows):,} documents, {len(corpus.ids):,} tokens")
        unseen = np.setdiff1d(np.arange(NUM_SPECIAL_IDS, run.config.vocabulary_size), corpus.ids).tolist()
        if run.initial is not None:  # It may have seen some of them.
            pieces, never = run.initial.tokenizer.pieces, {*run.initial.unseen}
            known = {piece for number, piece in enumerate(pieces) if number not in never}
            unseen = [number for number in unseen if run.vocabulary.pieces[number] not in known]
        run.data = run.data._replace(arguments={**run.data.arguments, "unseen": unseen})
        return corpus

    def examples(self, predictor, data):
        texts = [*data]
        inspect_reader(data, "corpus")
        return texts

    def score(self, predictor, examples, resamples=0, progress=None, stride=None):
        """Computes loss, perplexity, bits per character and accuracy; the bootstrap resamples windows.

        `stride` is that of `TextGenerator.log_probs`: by default each token has at least half of the context.
        """
        windows = predictor.window_log_probs(examples, stride, progress)
        if not sum(map(len, windows)):
            raise ValueError("There must be a text of two tokens to evaluate on. Received: none. Check the file.")
        nats, tokens = np.array([-window.sum() for window in windows]), np.array([*map(len, windows)])
        characters = sum(map(len, examples)) * tokens / tokens.sum()  # About those of each window.

        def values(rows):
            loss = nats[rows].sum() / tokens[rows].sum()
            bits = bits_per_character(nats[rows].sum(), characters[rows].sum())
            return [loss, np.exp(loss), bits]

        stride = predictor.default_stride if stride is None else stride
        signature = f"tokens:{tokens.sum()}|context:{predictor.max_tokens}|stride:{stride}"
        names = "nats/token", "perplexity", "bits per character"
        scores = bootstrap_scores(dict.fromkeys(names, signature), values, len(windows), resamples)
        outcomes = functools.partial(_outcomes, predictor, examples, stride, windows)
        return Evaluation(scores, None, None, float(nats.sum() / tokens.sum()), outcomes)


def _outcomes(predictor, texts, stride, windows):
    """Returns the mean log-probability of each window, which shows the tokens that the model expected least."""
    _, labels = predictor.windows(texts, stride)
    pieces = predictor.tokenizer.pieces

    def show(number):
        ids = labels.row(number)
        ids = ids[ids != NO_LABEL]
        least = np.argsort(windows[number], kind="stable")[:_LEAST_EXPECTED]
        shown = ", ".join(f"{pieces[ids[place]]!r} {windows[number][place]:.1f}" for place in least)
        return Shown(predictor.tokenizer.decode([ids.tolist()])[0], "", f"least expected: {shown}")

    means = np.array([window.mean() if len(window) else 0.0 for window in windows])
    return Outcomes("log-probability of a token", means, show, np.array([*map(len, windows)]), "tokens")


_task = LanguageModelling()
train, evaluate, from_checkpoint = _task.train, _task.evaluate, _task.from_checkpoint
