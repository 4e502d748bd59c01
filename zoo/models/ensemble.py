"""Several models that predict together."""

import itertools
from collections.abc import Sequence

import keras
from keras import ops

from keras_transformer.decoding import PerSentence


class Ensemble(keras.Model):
    """Averages the probabilities of several models of one vocabulary: p(y_t) = 1/M sum_m p_m(y_t).

    Inputs and axes are those of its members; outputs are logits, float32.

    Args:
        members: The models, which may differ in their sizes.
    """

    def __init__(self, members: Sequence[keras.Model], **kwargs):
        super().__init__(**{"name": "ensemble", **kwargs})
        self.members = list(members)
        self.config = members[0].config
        self.built = True

    def call(self, inputs, training=None):
        return _log_sum([member(inputs, training=training) for member in self.members])

    def step_function(self, *arguments):
        """Returns the step function of a search; arguments are those of the members' `step_function`."""
        steps = [member.step_function(*arguments) for member in self.members]

        def step(token_ids, states, index):
            results = (one(token_ids, state, index) for one, state in zip(steps, self.split_state(states)))
            logits, states = zip(*results)
            return _log_sum(logits), self.join_states(states)

        return step

    def split_state(self, state):
        """Returns the state of each member."""
        return state

    def join_states(self, states):
        """Returns a state from that of each member."""
        return states


class Seq2SeqEnsemble(Ensemble):
    """`Ensemble` of `zoo.models.seq2seq.Seq2Seq`, with what searches need of one."""

    def init_state(self, source, num_beams, length=1):
        """Returns the states of all members; see `Seq2Seq.init_state`."""
        return tuple(member.init_state(source, num_beams, length) for member in self.members)


class LanguageModelEnsemble(Ensemble):
    """`Ensemble` of `zoo.models.language_model.LanguageModel`, with what generation needs of one."""

    def __init__(self, members, **kwargs):
        super().__init__(members, **kwargs)
        self.max_positions = min(filter(None, (member.max_positions for member in members)), default=0)

    def init_state(self, token_ids, length, window):
        """Reads prompts; see `LanguageModel.init_state`."""
        states, last = zip(*(member.init_state(token_ids, length, window) for member in self.members))
        return self.join_states(states), last[0]

    def make_room(self, state, length):
        """Returns a state with room for `length` more tokens."""
        parts = zip(self.members, self.split_state(state))
        return self.join_states([member.make_room(part, length) for member, part in parts])

    def pack_state(self, flat):
        """Packs the flat tensors of a state; see `LanguageModel.pack_state`."""
        ends = itertools.accumulate(member.state_size for member in self.members)
        parts = zip(self.members, itertools.pairwise((0, *ends)))
        return self.join_states([member.pack_state(flat[start:end]) for member, (start, end) in parts])

    def occurring_tokens(self, token_ids):
        """Returns which tokens occur in each row; see `LanguageModel.occurring_tokens`."""
        return self.members[0].occurring_tokens(token_ids)

    def split_state(self, state):
        return [PerSentence(tensors) for tensors in state.tensors]

    def join_states(self, states):
        return PerSentence(tuple(state.tensors for state in states))


def _log_sum(logits):
    log_probs = [ops.log_softmax(ops.cast(each, "float32")) for each in logits]
    return ops.logsumexp(ops.stack(log_probs), axis=0)
