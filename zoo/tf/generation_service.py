"""SavedModel of a language model, from prompts to texts."""

import re

import tensorflow as tf

from keras_transformer.decoding import sample, with_repetition_penalty
from zoo.config import END_ID, PAD_ID, START_ID
from zoo.limits import Limits, with_check
from zoo.tf.limits import check_bytes, start_timer
from zoo.tf.vocabularies import graph_tokenizer


class GenerationService(tf.Module):
    """Generates texts.

        prompt: string [B], seed: int32 [B]
        -> text: string [B], what follows each prompt

    The same prompt and seed give the same text, whatever the others are.

    Args:
        generator: A `zoo.language_modelling.predictor.TextGenerator`.
        limits: Limits of a call.
        options: `zoo.language_modelling.generation.GenerationOptions`, the same for all calls.
    """

    def __init__(self, generator, limits: Limits, options):
        super().__init__()
        self._generator, self._limits, self._options = generator, limits, options
        self._tracked = [variable.value for variable in generator.model.variables]
        self._tokenizer = graph_tokenizer(generator.tokenizer)
        self._begin = generator.encode_prompt("")  # What an empty prompt begins with.
        self._end = int(generator.documents)  # The end token counts for the search.
        self._size = options.most_tokens(generator.room(1)) + self._end

    def signatures(self) -> dict:
        """Returns the functions to save, by name."""
        specs = [tf.TensorSpec([None], tf.string, "prompt"), tf.TensorSpec([None], tf.int32, "seed")]
        self._function = tf.function(self._serve, input_signature=specs, autograph=False)
        return {tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY: self._function}

    def _serve(self, prompt, seed):
        texts = tf.cond(tf.size(prompt) > 0, lambda: self._texts(prompt, seed), lambda: tf.zeros([0], tf.string))
        return {"text": texts}

    def _texts(self, prompt, seed):
        check = start_timer(self._limits)
        check_bytes(tf.strings.length(prompt), self._limits)
        rows = self._rows(tf.strings.unicode_transcode(prompt, "UTF-8", "UTF-8", errors="replace"))
        self._check_positions(rows)
        ids = self._generate(check, rows, seed)
        texts = self._tokenizer.decode(ids)
        if self._options.stop:
            stops = "|".join(map(re.escape, self._options.stop))
            texts = tf.strings.regex_replace(texts, f"(?s)(?:{stops}).*", "")
        return texts

    def _check_positions(self, rows):
        """Raises an error in the graph if a prompt and its text have more tokens than the model has positions."""
        limit, needed = self._generator.model.max_positions, self._options.max_tokens
        if limit:
            room = self._generator.room(needed or 1)
            message = (
                f"A prompt may have at most {room} tokens: the model has {limit} positions, of which a text needs "
                f"{f'{needed}. Shorten it, or export with fewer tokens' if needed else 'one. Shorten it'}."
            )
            tf.debugging.assert_less_equal(rows.row_lengths(), tf.constant(room, tf.int64), message)

    def _rows(self, texts):
        """Encodes prompts as `TextGenerator.encode_prompt` does, as ragged ids."""
        ids = self._tokenizer.encode(texts)
        lengths = ids.row_lengths()
        needed = tf.ones_like(lengths, tf.bool) if self._generator.documents else tf.equal(lengths, 0)
        begin = tf.RaggedTensor.from_row_lengths(
            tf.tile(tf.constant(self._begin), [tf.math.count_nonzero(needed, dtype=tf.int32)]),
            tf.where(needed, tf.constant(len(self._begin), tf.int64), 0),
        )
        ids = tf.concat([begin, ids], axis=1)
        return ids if self._generator.model.max_positions else ids[:, -self._generator.max_tokens :]

    def _padded(self, rows):
        """Returns int32 `[B, P]`, padded at the beginning, P at least 2."""
        lengths = rows.row_lengths()
        width = tf.reduce_max(tf.concat([lengths, [2]], 0))
        missing = width - lengths
        padding = tf.RaggedTensor.from_row_lengths(tf.fill([tf.reduce_sum(missing)], PAD_ID), missing)
        ids = tf.concat([padding, rows], axis=1)
        return tf.reshape(ids.flat_values, [ids.nrows(), width])

    def _max_lengths(self, rows):
        """Returns the most tokens of each text, int32 `[B]`, of which learned positions leave less to long prompts."""
        limit, lengths = self._generator.model.max_positions, tf.cast(rows.row_lengths(), tf.int32)
        most = tf.fill(tf.shape(lengths), self._size)
        return tf.minimum(most, limit - lengths + self._end) if limit else most

    def _generate(self, check, rows, seeds):
        """Returns the new ids `[B, L]`."""
        generator, options, size, prompts = self._generator, self._options, self._size, self._padded(rows)
        state, last = generator.model.init_state(prompts, size, generator.max_tokens)
        step = generator.model.step_function(generator.max_tokens)
        if options.repetition_penalty != 1:
            seen = generator.model.occurring_tokens(prompts[:, :-1])
            step, state = with_repetition_penalty(step, state, options.repetition_penalty, seen)

        def first_reads_the_prompt(token_ids, states, index):
            own, last = states
            logits, own = step(tf.where(tf.equal(index, 0), last, token_ids), own, index)
            return logits, (own, last)

        sampling = options.sampling() if options.temperature else {"top_k": 1}
        spec = tf.TensorSpec([size], tf.float32)
        uniforms = tf.map_fn(lambda seed: draw(seed, size), seeds, fn_output_signature=spec)
        found = sample(
            with_check(check, first_reads_the_prompt),
            (state, last),
            max_lengths=self._max_lengths(rows),
            max_length=size,
            start_id=START_ID,
            end_id=END_ID if generator.documents else None,
            pad_id=PAD_ID,
            never=generator.never,
            uniforms=tf.transpose(uniforms),
            **sampling,
        )
        return found.ids[:, 0]


def draw(seed: tf.Tensor, count: int) -> tf.Tensor:
    """Returns the random numbers of a text, float32 `[count]` in [0, 1); a longer text begins with the same ones."""
    return tf.random.stateless_uniform([count], tf.stack([tf.cast(seed, tf.int32), 0]))
