"""Estimates of training runs on devices that are not here: memory and time of each device of a mesh.

Time is that of a roofline (Williams et al. 2009): products at the speed of large products, all other operations at that
of memory, sums among devices at that of their links, one after the other.
"""

import dataclasses
import math
from typing import Any, NamedTuple

import keras
from rich.filesize import decimal

from zoo.config import EncoderConfig, LanguageModelConfig, ModelConfig, Recipe
from zoo.distribution.mesh import parts_of_moments, parts_of_weight
from zoo.training.devices import Device

# Values a position that XLA keeps for the backward pass, in widths of the model for each attention and feed-forward
# sublayer: of the residual stream, which all devices have, and of inner vectors, which they divide. Measured by its own
# account of programs of 1 to 3 layers, widths 128 to 512 and 1 to 8 model devices (docs/several-machines.md).
_RESIDUAL, _INNER = 7, 2
_SCORES, _LOGITS = 3, 2  # The same for each score of an attention, and for each logit.
# Reads and writes of memory outside of products, in widths a sublayer and position, by an H100's times of `base`.
_TRAFFIC = 95
_ADAM = 28  # Bytes that Adam reads and writes for each weight.


class Estimate(NamedTuple):
    """Memory in bytes and time in seconds of one device, by what takes it."""

    memory: dict[str, float]
    seconds: dict[str, float]
    flops: float
    parameters: int
    micro_batches: int

    @property
    def update(self) -> float:
        """Seconds of an update."""
        return sum(self.seconds.values())


def estimate(
    recipe: Recipe, device: Device, replicas: int = 1, model_devices: int = 1, length: int = 32, micro_batches: int = 0
) -> Estimate:
    """Estimates the update of a training run of a text model on a mesh of `replicas` times `model_devices` devices.

    Args:
        recipe: Its model and training.
        device: What all devices are.
        replicas: Groups of devices, which share the batch.
        model_devices: Devices that share each weight.
        length: Steps of a sequence.
        micro_batches: Of an update; 0 for the fewest that fit into memory.

    Raises:
        ValueError: If the model is none of texts, or does not fit.
    """
    if not isinstance(recipe.model, ModelConfig | LanguageModelConfig | EncoderConfig):
        raise ValueError(
            "Only training of models of texts can be estimated. Received: a recipe with a "
            f"{type(recipe.model).__name__}. Use `plan`, which measures, instead."
        )
    shapes = _weight_shapes(recipe.model)
    if micro_batches:
        return _estimate(recipe, device, shapes, replicas, model_devices, length, micro_batches)
    rows = max(1, recipe.training.batch_tokens // replicas // length)
    for count in (2**i for i in range(rows.bit_length())):
        found = _estimate(recipe, device, shapes, replicas, model_devices, length, count)
        if sum(found.memory.values()) <= 0.9 * device.memory:
            return found
    raise ValueError(
        f"The model does not fit. Expected: at most 90 % of {decimal(int(device.memory))} a device. Received: "
        f"{decimal(int(sum(found.memory.values())))}, in {count} micro-batches. Take more devices for each weight."
    )


def _weight_shapes(config):
    """Returns the shapes of a model's weights by path; no memory is taken for them."""
    from zoo.models.encoder_model import EncoderModel
    from zoo.models.language_model import LanguageModel
    from zoo.models.seq2seq import Seq2Seq

    kinds = {ModelConfig: Seq2Seq, LanguageModelConfig: LanguageModel, EncoderConfig: EncoderModel}
    model_class = next(kinds[kind] for kind in kinds if isinstance(config, kind))
    if type(config) is not model_class.config_class:
        names = [field.name for field in dataclasses.fields(model_class.config_class)]
        config = model_class.config_class(**{name: getattr(config, name) for name in names})
    with keras.StatelessScope(initialize_variables=False):
        model = model_class(config)
        model.build()
        return {variable.path: tuple(variable.shape) for variable in model.trainable_variables}


def _estimate(recipe, device, shapes, replicas, model_devices, length, micro_batches):
    config, training = recipe.model, recipe.training
    width, mesh = config.hidden_dim, (replicas, model_devices)
    value = 4 if training.precision == "float32" else 2
    sublayers, attentions = _sublayers(config)
    positions = training.batch_tokens / replicas  # Of an update, on one group of devices.
    sizes = {path: math.prod(shape) for path, shape in shapes.items()}
    own = {path: sizes[path] / parts_of_weight(path, shapes[path], model_devices) for path in sizes}
    moments = sum(sizes[path] / parts_of_moments(path, shapes[path], *mesh) for path in sizes)
    kernels = sum(size for path, size in sizes.items() if path.endswith("/kernel"))
    logits = config.vocabulary_size

    kept = sublayers * width * (_RESIDUAL + _INNER / model_devices)
    kept += attentions * _SCORES * config.num_heads * length / model_devices
    if training.remat:
        kept = sublayers * width + kept / max(1, sublayers // 2)
    kept += _LOGITS * logits / model_devices * 4 / value
    memory = {
        "weights": 4 * sum(own.values()),
        "gradients": 4 * sum(own.values()) * (2 if micro_batches > 1 else 1),
        "Adam's two moments": 8 * moments,
        "activations of a micro-batch": value * kept * positions / micro_batches,
    }
    products = 2 * (kernels + logits * width) + 4 * attentions * length * width
    flops = (4 if training.remat else 3) * products * positions
    traffic = value * _TRAFFIC * sublayers * width * (_RESIDUAL + _INNER / model_devices) / (_RESIDUAL + _INNER)
    traffic += 16 * logits / model_devices
    seconds = {
        "products": flops / model_devices / device.flops,
        "other operations": traffic * positions / device.bandwidth,
        # Behind each sublayer, forward and backward; a ring sends each sum twice but for its own part.
        "sums among model devices": 2 * sublayers * positions * width * value * _ring(model_devices) / device.link,
        "sums of gradients": 4 * sum(own.values()) * _ring(replicas) / device.link,
        "Adam": _ADAM * moments / device.bandwidth,
    }
    seconds["idle"] = max(0.0, device.update - sum(seconds.values()))
    return Estimate(memory, seconds, 3 * products * positions / model_devices, sum(sizes.values()), micro_batches)


def _sublayers(config: Any) -> tuple[int, int]:
    """Returns the numbers of sublayers, and of attentions among them."""
    if isinstance(config, ModelConfig):
        encoder, decoder = config.num_encoder_layers, config.num_decoder_layers
        return 2 * encoder + 3 * decoder, encoder + 2 * decoder
    return 2 * config.num_layers, config.num_layers


def _ring(devices):
    return 2 * (devices - 1) / devices
