"""The task of labelling each word of a sentence."""

import functools

import numpy as np

from zoo.corpora.inspection import inspect_reader, warn_of_header, warn_of_overlap
from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.corpora.word_rows import labelled_windows
from zoo.labelling.data import label_names, label_numbers
from zoo.labelling.metrics import is_bio, labelling_scores
from zoo.labelling.predictor import WordTagger
from zoo.reports.outcomes import Classes, Outcomes, Shown
from zoo.serving.calibration import fit_temperature
from zoo.training.tasks import Evaluation, Task, TrainingData

_SHORT = 5  # Sentences of at most so many words occur in all corpora.


class Labelling(Task):
    """Trains and evaluates taggers. Each corpus is a `zoo.labelling.data.SentenceReader`.

    The training corpus determines the number of labels. Examples are (numbers of the labels, sentences).
    """

    predictor_class = WordTagger
    scores = {"accuracy": "accuracy", "span_f1": "span F1", "loss": "loss"}

    def read(self, recipe, train, dev, log):
        names = label_names(train)
        if recipe.training.score == "span_f1" and not is_bio(names):
            raise ValueError(
                f"The score span_f1 needs labels O, B-type and I-type. Received: {', '.join(names)}. Use accuracy."
            )
        labels, sentences, _ = label_numbers(train, names)
        inspect_reader(train, "train", log)
        flat = [label for sentence in sentences for label in sentence.labels]
        warn_of_header(flat, train.report.first[0], log, "delete it")
        log(f"{train.report}; {len(names)} labels")
        *dev_examples, notes = label_numbers(dev, names)
        inspect_reader(dev, "dev", log)
        overlap = (
            [sentence.words for sentence in corpus if len(sentence.words) > _SHORT]
            for corpus in (sentences, dev_examples[1])
        )
        warn_of_overlap(*overlap, log)
        log(f"dev: {dev.report}" + (f"; {notes.count:,} unknown labels {notes}" if notes.count else ""))
        if not dev_examples[0]:
            raise ValueError("The dev corpus must have sentences to select the best checkpoint. Received: no sentence.")
        return TrainingData(
            (labels, [sentence.words for sentence in sentences]),
            tuple(dev_examples),
            texts=lambda: (" ".join(sentence.words) for sentence in sentences),
            sizes={"num_labels": len(names)},
            arguments={"labels": names},
        )

    def encode(self, run, tokenizer):
        labels, words = run.data.train
        corpus = labelled_windows(words, labels, tokenizer, run.max_tokens, run.config.character_filters > 0)
        if len(corpus) > len(words):
            run.log(f"{len(corpus) - len(words):,} more windows, as sentences have more than {run.max_tokens} tokens")
        return corpus

    def examples(self, predictor, data):
        *examples, _ = label_numbers(data, predictor.labels)
        inspect_reader(data, "corpus")
        if not examples[0]:
            raise ValueError(f"There must be at least one sentence to evaluate on. Received: {data.report}.")
        return examples

    def calibrate(self, predictor, run):
        numbers, sentences = run.data.dev
        known, gold = _known(numbers, predictor.probabilities([sentence.words for sentence in sentences]))
        predictor.temperature = fit_temperature(gold, known, predictor.temperature)

    def score(self, predictor, examples, resamples=0, progress=None):
        """Computes token accuracy and, for BIO labels, span F1; the loss leaves out unknown labels."""
        numbers, sentences = examples
        words, gold = zip(*sentences)
        probabilities = predictor.probabilities(words, progress)
        predicted = [[predictor.labels[i] for i in rows.argmax(-1)] for rows in probabilities]
        known, classes = _known(numbers, probabilities)
        loss = float(-np.log(np.maximum(known[np.arange(len(known)), classes], 1e-30)).mean())
        scores = labelling_scores(gold, predicted, predictor.labels, resamples)
        outcomes = functools.partial(_outcomes, words, gold, predicted, Classes.of(predictor.labels, classes, known))
        return Evaluation(scores, gold, predicted, loss, outcomes)


def _outcomes(words, gold, predicted, classes):
    def show(i):
        wrong = [k for k in range(len(words[i])) if gold[i][k] != predicted[i][k]]
        sides = ("\n".join(f"{words[i][k]}: {labels[i][k]}" for k in wrong) for labels in (gold, predicted))
        return Shown(" ".join(words[i]), *sides)

    shares = [100 * np.mean([a == b for a, b in zip(*pair)]) for pair in zip(gold, predicted)]
    lengths = np.array([*map(len, words)])
    return Outcomes("words right, % (only wrong ones are listed)", np.array(shares), show, lengths, classes=classes)


def _known(numbers, probabilities):
    """Returns the probabilities `[N, L]` and the labels `[N]` of all words with a known label."""
    flat = np.concatenate([np.asarray(row) for row in numbers])
    return np.concatenate(probabilities)[flat != NO_LABEL], flat[flat != NO_LABEL]


_task = Labelling()
train, evaluate, from_checkpoint = _task.train, _task.evaluate, _task.from_checkpoint
