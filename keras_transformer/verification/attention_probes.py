"""Probes of attention: each step sees itself and every step that it may see, and no padding."""

from collections.abc import Sequence

import numpy as np
from keras import ops, tree

from keras_transformer.ops.gradients import weight_gradients
from keras_transformer.verification.influence import Influence
from keras_transformer.verification.report import Finding
from keras_transformer.verification.subject import Subject

_DRAWS = 6  # Batches in all of which a weight lacks effect at the second step alone, so that it is no chance.


def mask_polarity(subject: Subject, causal: str | None, found: Sequence[Influence]) -> Finding:
    """Checks that real steps of a sequence are seen, and not its padding instead."""
    name, mixing, blind = "mask polarity", False, ""
    for own in _relevant(subject, causal, found):
        examples = own.real.sum(axis=1) > 1
        others = own.seen.copy()
        if own.steps is not None and own.group == subject.follows[own.output]:
            others &= np.arange(own.real.shape[1]) != own.steps[..., None]
        of_real = (others & own.real[:, None]).any(axis=(1, 2))
        of_padding = (others & ~own.real[:, None]).any(axis=(1, 2))
        mixing |= bool(of_real[examples].any())
        if (examples & of_padding & ~of_real).any():
            number = int(np.flatnonzero(examples & of_padding & ~of_real)[0])
            blind = f"of {subject.names[own.group[0]]} example {number} sees its padding and no other real step"
    if blind or mixing:
        return Finding(name, not blind, note=blind)
    return Finding(name, None, note="not applicable: no gradient shows a step that sees another")


def every_step(subject: Subject, causal: str | None, found: Sequence[Influence], rng: np.random.Generator) -> Finding:
    """Checks that each real step sees every real step that it may see, in a causal input itself and all before it."""
    name, notes, local = "every step is seen", [], []
    relevant = _relevant(subject, causal, found)
    for group in {own.group[0]: own.group for own in relevant}.values():
        if not any((own.seen & own.real[:, None]).any() for own in relevant if own.group == group):
            where = subject.names[group[0]]
            if subject.difference(subject.call(subject.changed(group, subject.real(group), rng))):
                return Finding(name, None, note=f"not applicable: no gradient reaches {where}")
            return Finding(name, False, note=f"no output depends on {where}")
    for own in relevant:
        unseen = own.unseen(causal is not None and own.group == subject.group_of(causal))
        if not unseen.any() or not (own.seen & own.real[:, None]).any():
            continue
        reach = _reach(own) if own.group == subject.follows[own.output] else None
        if reach == (0, 0):
            return _single_step_finding(name, subject, rng)
        if reach:
            local.append(f"each step sees {-reach[0]} steps before and {reach[1]} behind it only")
        elif own.certain(unseen):
            return Finding(name, False, note=_first_unseen(subject, own, unseen))
        else:
            local.append("few steps are seen at a time, as by a maximum")
    notes = [own for own in relevant if own.faded.any()]
    if local or notes:
        return Finding(name, None, note=f"not applicable: {local[0] if local else 'far steps fade below all floats'}")
    if not relevant:
        return Finding(name, None, note="not applicable: no float output that may see all steps")
    if causal and (weight := _idle_at_second_step(subject, causal, rng)):
        return Finding(
            name, False, note=f"the second step does not see itself beside the first: {weight} is idle there"
        )
    return Finding(name, True)


def _relevant(subject, causal, found):
    """Leaves out outputs that follow one input and see another, causal one: what they may see is unknown."""
    group = subject.group_of(causal) if causal else None
    return [own for own in found if own.group != group or subject.follows[own.output] in (None, group)]


def _reach(influence):
    """Returns how far before and behind itself each step sees all and none beyond; None if steps differ in it."""
    if influence.steps is None:
        return None
    offsets = np.arange(influence.real.shape[1]) - influence.steps[..., None]
    real = np.broadcast_to(influence.real[:, None], offsets.shape)
    seen = offsets[influence.seen & real]
    least, most = int(seen.min()), int(seen.max())
    inside = (offsets >= least) & (offsets <= most)
    same = least <= 0 <= most and (influence.seen == inside)[real].all()
    return (least, most) if same else None


def _first_unseen(subject, influence, unseen):
    example, examined, step = np.argwhere(unseen)[0]
    by = "the output" if influence.steps is None else f"step {influence.steps[example, examined]}"
    return f"in example {example} {by} does not see step {step} of {subject.names[influence.group[0]]}"


def _single_step_finding(name, subject, rng):
    """Fails a model with idle weights: queries and keys of steps that see only themselves are, others are not."""
    gradients = weight_gradients(subject.model, subject.nest(subject.arrays), _loss(subject, None, None, rng))
    largest = [0.0 if gradient is None else float(np.abs(gradient).max()) for gradient in gradients]
    for variable, own in zip(subject.model.trainable_variables, largest):
        if len(variable.shape) > 1 and own <= 1e-6 * max(largest):  # The softmax of one score may leave a rounding.
            return Finding(name, False, note=f"each step sees itself only, and {variable.path} has no effect")
    return Finding(name, None, note="not applicable: the steps do not interact")


def _idle_at_second_step(subject, causal, rng):
    """Returns the path of a weight, most columns of which affect the last step but not the second; None without any.

    Attention to a single step does not depend on the query. Queries and keys are therefore idle at the second step of a
    sequence unless that step sees itself too, which outputs do not show, due to the residual connection.
    """
    group = subject.group_of(causal)
    outputs = [number for number, own in enumerate(subject.follows) if own == group]
    examples = np.flatnonzero(subject.real(group).sum(axis=1) > 2)
    if not outputs or not len(examples):
        return None
    steps = np.zeros((2, len(subject.arrays[0])), int)
    for example in examples:
        steps[:, example] = np.flatnonzero(subject.real(group)[example])[[1, -1]]
    variables, suspects = subject.model.trainable_variables, None
    for draw in range(_DRAWS):
        arrays = subject.redrawn(rng) if draw else subject.arrays
        early, late = (
            [_columns(gradient, variable) for gradient, variable in zip(found, variables)]
            for found in (
                weight_gradients(
                    subject.model, subject.nest(arrays), _loss(subject, outputs, (examples, steps[i]), rng)
                )
                for i in range(2)
            )
        )
        least = 1e-5 * max(part.max() for part in late)  # Biases of keys have an effect by rounding only.
        found = [(b > least) & (a < 1e-4 * b) for a, b in zip(early, late)]
        suspects = found if suspects is None else [own & other for own, other in zip(suspects, found)]
        idle = [variable.path for variable, own in zip(variables, suspects) if own.mean() > 0.5]
        if not idle:
            return None
    return idle[0]


def _columns(gradient, variable):
    """Returns the largest absolute gradient in each column of a weight; 0 for a bias or a weight without effect."""
    if gradient is None or gradient.ndim < 2:
        return np.zeros(1)
    return np.abs(gradient).reshape(len(gradient), -1).max(axis=0)


def _loss(subject, outputs, places, rng):
    """Returns a loss, a random sum of the outputs: of all, or of some outputs at one step of some examples each."""
    weights = []
    for number, output in enumerate(subject.outputs):
        weight = rng.normal(size=output.shape)
        if outputs is not None:
            only = np.zeros(output.shape[:2])
            if number in outputs:
                only[places[0], places[1][places[0]]] = 1
            weight *= only.reshape(*only.shape, *[1] * (weight.ndim - 2))
        weights.append(ops.convert_to_tensor(weight, "float32"))

    def loss(found):
        return sum(ops.sum(ops.cast(own, "float32") * weight) for own, weight in zip(tree.flatten(found), weights))

    return loss
