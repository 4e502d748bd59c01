"""Several encoder-decoder Transformers that predict together."""

from collections.abc import Sequence

import keras
from keras import ops

from zoo.models.seq2seq import Seq2Seq


class Seq2SeqEnsemble(keras.Model):
    """Averages the probabilities of several models of one vocabulary: p(y_t) = 1/M sum_m p_m(y_t).

    It has what searches need of a `Seq2Seq`. Inputs, outputs and axes are those of `Seq2Seq`.

    Args:
        members: The models, which may differ in their sizes.
    """

    def __init__(self, members: Sequence[Seq2Seq], **kwargs):
        super().__init__(**{"name": "ensemble", **kwargs})
        self.members = list(members)
        self.config = members[0].config
        self.built = True

    def call(self, inputs, training=None):
        return _log_sum([member(inputs, training=training) for member in self.members])

    def init_state(self, source, num_beams, length=1):
        """Returns the states of all members; see `Seq2Seq.init_state`."""
        return tuple(member.init_state(source, num_beams, length) for member in self.members)

    def step_function(self, num_beams):
        """Returns the step function of a search; see `Seq2Seq.step_function`."""
        steps = [member.step_function(num_beams) for member in self.members]

        def step(token_ids, states, index):
            logits, states = zip(*(one(token_ids, state, index) for one, state in zip(steps, states)))
            return _log_sum(logits), states

        return step


def _log_sum(logits):
    log_probs = [ops.log_softmax(ops.cast(each, "float32")) for each in logits]
    return ops.logsumexp(ops.stack(log_probs), axis=0)
