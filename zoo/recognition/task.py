"""The task of recognizing speech."""

import dataclasses
import functools
import shutil

import numpy as np

from zoo.config import END_ID
from zoo.corpora.changed_recordings import ChangedRecordings
from zoo.corpora.inspection import inspect_reader
from zoo.corpora.speech_rows import SpeechRows, store_samples
from zoo.corpora.token_rows import TokenRows
from zoo.recognition.loss import CTCAndTokenCrossEntropy
from zoo.recognition.metrics import error_rates
from zoo.recognition.predictor import SpeechTranscriber
from zoo.reports.outcomes import Outcomes, Shown
from zoo.training.tasks import Evaluation, Task, TrainingData

_UNUSED = "augment", "placeholders", "denoising", "image_augment", "box_augment", "subword_dropout", "token_dropout"
_ENCODER = "frozen_layers", "layer_decay", "lora_rank", "r_drop"


class Recognition(Task):
    """Trains and evaluates recognizers of speech. Corpora are readers of `zoo.recognition.data`.

    Examples are (texts, recordings as int16 samples).
    """

    predictor_class = SpeechTranscriber
    scores = {"wer": "word error rate", "loss": "loss"}
    unused = (*_UNUSED, *_ENCODER)

    def read(self, recipe, train, dev, log):
        train.sampling_rate = dev.sampling_rate = recipe.model.sampling_rate
        texts, recordings = _read(dev)
        inspect_reader(dev, "dev", log)
        log(f"dev: {dev.report}")
        if not texts:
            raise ValueError("The dev corpus must have recordings to select the best checkpoint. Received: none.")
        return TrainingData(train, (texts, recordings), texts=train.texts)

    def check(self, recipe, initial):
        super().check(recipe, initial)
        if initial is not None and not isinstance(initial, SpeechTranscriber):
            raise ValueError(
                f"`initial` must be a recognizer of speech. Received: {type(initial).__name__}. Load another model."
            )
        if initial is not None and initial.sampling_rate != recipe.model.sampling_rate:
            raise ValueError(
                f"The sampling rate must be that of the initial model, {initial.sampling_rate}. Received: "
                f"model.sampling_rate={recipe.model.sampling_rate}. Change it."
            )

    def model_config(self, run):
        given = run.config if run.initial is None else run.initial.model.config
        names = "dropout", "attention_dropout", "activation_dropout", "ctc_weight", "time_masks", "frequency_masks"
        rates = {name: getattr(run.config, name) for name in (*names, "time_width", "time_share", "frequency_width")}
        return dataclasses.replace(given, **rates, vocabulary_size=run.vocabulary.vocabulary_size)

    def encode(self, run, tokenizer):
        """Reads the recordings at each start, to check that they have not changed, into a file of the run."""
        reader, per_step, rows = run.data.train, run.config.samples_per_step, []
        too_short, names = [], []

        def usable():
            for example in reader:
                ids = tokenizer.encode([example.text])[0]
                repeats = int(np.count_nonzero(np.diff(ids) == 0))
                if len(ids) + repeats > -(-len(example.samples) // per_step) or len(ids) >= run.max_tokens:
                    too_short.append(example.name)
                    continue
                rows.append(ids)
                names.append(example.name)
                yield example.samples

        folder = run.folder / "corpus"
        folder.mkdir(exist_ok=True)
        samples = store_samples(usable(), folder / "samples.int16")
        inspect_reader(reader, "train", run.log)
        run.log(str(reader.report))
        if too_short:
            run.log(f"{len(too_short):,} recordings left out, too short for their texts ({', '.join(too_short[:10])})")
        if not rows:
            raise ValueError("The training corpus must have recordings. Received: none that can be used.")
        return SpeechRows(samples, TokenRows.of(rows), per_step)

    def with_noise(self, corpus, run):
        changes = run.settings.sound_augment
        return ChangedRecordings(corpus, changes, run.settings.seed, run.config.sampling_rate) if changes else corpus

    def make_loss(self, run, pad_label):
        return CTCAndTokenCrossEntropy(run.config.ctc_weight, END_ID, run.settings.label_smoothing, pad_label)

    def make_predictor(self, model, card, run):
        options = {}
        if isinstance(run.initial, SpeechTranscriber):
            options = {name: getattr(run.initial, name) for name in SpeechTranscriber.settings}
        return self.predictor_class(model, run.vocabulary, card, **options)

    def clean_up(self, run):
        shutil.rmtree(run.folder / "corpus", ignore_errors=True)

    def dev_figures(self, predictor, run):
        """Computes the loss of the decoder and, unless that selects the weights, the word error rate; logs a text."""
        texts, recordings = run.data.dev
        loss = predictor.loss(recordings, texts)
        if run.settings.score == "loss":
            return {"dev_loss": loss, "score": -loss}
        found = self.score(predictor, run.data.dev)
        rate = found.scores[0].value
        run.log(f"  {texts[0]}\n    -> {found.predicted[0]}")
        return {"dev_loss": loss, "dev_wer": rate, "score": -rate}

    def final_evaluation(self, predictor, run):
        """Computes the rates of errors, unless the run is evaluated by its loss."""
        if run.settings.score == "loss":
            return Evaluation([], None, None)
        return super().final_evaluation(predictor, run)

    def examples(self, predictor, data):
        data.sampling_rate = predictor.sampling_rate
        texts, recordings = _read(data)
        inspect_reader(data, "corpus")
        if not texts:
            raise ValueError(f"There must be at least one recording to evaluate on. Received: {data.report}.")
        return texts, recordings

    def score(self, predictor, examples, resamples=0, progress=None):
        """Computes the rates of `zoo.recognition.metrics.error_rates`; `predicted` are texts."""
        texts, recordings = examples
        found = predictor.transcribe(recordings, progress)
        seconds = np.array([len(recording) for recording in recordings]) / predictor.sampling_rate
        outcomes = functools.partial(_outcomes, texts, found, seconds)
        return Evaluation(error_rates(found, texts, resamples), texts, found, outcomes=outcomes)


def _outcomes(texts, found, seconds):
    return Outcomes(
        "words right, %",
        np.array([max(0.0, 100 - error_rates([text], [known])[0].value) for text, known in zip(found, texts)]),
        lambda i: Shown(f"a recording of {seconds[i]:.1f} s", texts[i], found[i]),
        seconds,
        "seconds",
    )


def _read(reader):
    """Returns the texts and the samples of recordings."""
    examples = [*reader]
    return [example.text for example in examples], [example.samples for example in examples]


_task = Recognition()
train, evaluate, from_checkpoint = _task.train, _task.evaluate, _task.from_checkpoint
