"""Decoding step by step, of all models with a decoder that attends to a memory."""

from typing import Any

from keras import ops

from keras_transformer.decoding import PerSentence, PerStep
from keras_transformer.ops.ancestry import add_step, no_ancestors, visible_slots
from keras_transformer.ops.cache import BlockCache


class StepDecoding:
    """Part of models with a `decoder`, `embed`, `logits` and `output_table`; see `zoo.models.seq2seq`.

    Axes: B batch, S steps of the memory, K beams, V vocabulary, D width.
    """

    def memory_state(self, memory: Any, memory_mask: Any, num_beams: int, length: int = 1) -> tuple:
        """Returns the state for decoding from a memory `[B, S, D]` and its mask `[B, S]` with `num_beams` beams.

        It has room for `length` steps; a search makes room for more by itself.
        """
        batch = ops.shape(memory)[0]
        past, projected = zip(*self.decoder.init_cache(memory, length, num_beams))
        kept = PerStep(past), projected, memory_mask
        return PerStep(no_ancestors(batch * num_beams, length)), PerSentence(kept)

    def step_function(self, num_beams: int):
        """Returns the function `(ids [B * K], state, index) -> (logits [B * K, V], state)` that a search calls.

        Call this method in the graph of the search: the function holds a tensor, the output matrix, computed once.
        """
        output_kernel = self.output_table.output_kernel()

        def step(token_ids, state, index):
            ((ancestors,), kept), visible = state, None
            (past,), memory, memory_mask = kept.tensors
            if num_beams > 1:
                ancestors = add_step(ancestors, index, num_beams)
                visible = visible_slots(ancestors, num_beams)
            x, caches = self.decoder(
                self.embed(token_ids[:, None], start_index=index),
                memory_mask=memory_mask,
                attention_mask=visible,
                cache=tuple(map(BlockCache, past, memory)),
                cache_index=index,
            )
            past, memory = zip(*caches)
            state = PerStep(ancestors), PerSentence((PerStep(past), memory, memory_mask))
            return self.logits(x[:, 0], output_kernel), state

        return step
