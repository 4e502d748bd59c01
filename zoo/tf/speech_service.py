"""SavedModel of a recognizer of speech, from WAV files or samples to texts."""

import tensorflow as tf

from zoo.limits import Limits
from zoo.tf.limits import check_bytes, start_timer
from zoo.tf.vocabularies import graph_tokenizer


class SpeechService(tf.Module):
    """Writes the texts of recordings.

        serving_default: audio: string [B], contents of WAV files of 16 bits at the sampling rate of the model
        samples: samples: float32 [B, S] from -1 to 1, num_samples: int32 [B]
        -> text: string [B], scores: float32 [B]

    Other formats and rates are for the caller to convert, since TensorFlow decodes no others. Channels are averaged.
    Each recording is transcribed as a whole: cut those of more than some minutes.

    Args:
        predictor: A `zoo.recognition.predictor.SpeechTranscriber`.
        limits: Limits of a call; `max_bytes` of a file.
    """

    def __init__(self, predictor, limits: Limits):
        super().__init__()
        self._predictor, self._limits = predictor, limits
        self._tracked = [variable.value for variable in predictor.model.variables]
        self._tokenizer = graph_tokenizer(predictor.tokenizer)
        self._search = {name: getattr(predictor, name) for name in predictor.searched_with}

    def signatures(self) -> dict:
        """Returns the functions to save, by name."""
        return {tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY: self.transcribe, "samples": self.transcribe_samples}

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, name="audio")], autograph=False)
    def transcribe(self, audio):
        check_bytes(tf.strings.length(audio), self._limits)
        rows = tf.map_fn(self._decoded, audio, fn_output_signature=tf.RaggedTensorSpec((None,), tf.float32, 0))
        return self._texts(rows.to_tensor(), tf.cast(rows.row_lengths(), tf.int32))

    @tf.function(
        input_signature=[
            tf.TensorSpec((None, None), tf.float32, name="samples"),
            tf.TensorSpec((None,), tf.int32, name="num_samples"),
        ],
        autograph=False,
    )
    def transcribe_samples(self, samples, num_samples):
        return self._texts(samples, num_samples)

    def _texts(self, samples, num_samples):
        """Transcribes recordings one after the other, so that memory depends on the longest one only."""
        check = start_timer(self._limits)

        def body(row, texts, scores):
            sound = samples[row : row + 1, : num_samples[row]]
            found = self._predictor.search(sound, num_samples[row : row + 1], lambda *_: check(), **self._search)
            text = tf.strings.strip(self._tokenizer.decode(found.ids[:, 0]))
            return row + 1, tf.concat([texts, text], 0), tf.concat([scores, found.scores[:, 0]], 0)

        start = 0, tf.zeros((0,), tf.string), tf.zeros((0,))
        shapes = tf.TensorShape([]), tf.TensorShape([None]), tf.TensorShape([None])
        _, texts, scores = tf.while_loop(lambda row, *_: row < tf.shape(samples)[0], body, start, shapes)
        return {"text": texts, "scores": scores}

    def _decoded(self, content):
        """Decodes a WAV file as float32 `[S]`, rounded as the predictor's samples are."""
        samples, rate = tf.audio.decode_wav(content)
        wanted = self._predictor.sampling_rate
        tf.debugging.assert_equal(rate, wanted, f"The WAV file must have {wanted} samples a second. Convert it.")
        return tf.round(tf.reduce_mean(samples, 1) * 2**15) / 2**15
