"""Low-rank adaptation (LoRA) of the dense layers inside a layer or model."""

import keras
import numpy as np

from keras_transformer.ops.arguments import check_positive_integers
from keras_transformer.ops.sublayers import sublayers


def enable_lora(layer: keras.layers.Layer, rank: int, alpha: float | None = None) -> list[keras.layers.Dense]:
    """Freezes a layer and enables LoRA in all dense layers inside it (Hu et al. 2022).

        W' = W + alpha / rank A B,  A [in, rank], B [rank, out] = 0

    Calls Keras's own `Dense.enable_lora` for the dense layers of all attention and feed-forward layers inside. `.keras`
    and weights files hold W', which a model without LoRA can load; `merged_kernel` returns it too. A loaded model has
    no LoRA: nothing is frozen in it, and its optimizer starts anew. Saving warns of this.

    Args:
        layer: A built layer or model, such as an `Encoder`. Call it before `compile`.
        rank: Rank of A B.
        alpha: Scale of A B; `rank` by default.

    Returns:
        The dense layers with LoRA.

    Raises:
        ValueError: If `rank` is not positive, `layer` is not built, has no dense layer inside or has LoRA already;
            it is then unchanged.
    """
    check_positive_integers(rank=rank)
    found = [sublayer for sublayer in sublayers(layer, include_self=True) if isinstance(sublayer, keras.layers.Dense)]
    if not found or not all(dense.built for dense in found) or any(dense.lora_enabled for dense in found):
        raise ValueError(
            "`layer` must be built, have dense layers inside and no LoRA yet. "
            f"Received: {layer.name}, with {len(found)} dense layers, of which "
            f"{sum(dense.built for dense in found)} are built and {sum(dense.lora_enabled for dense in found)} have it."
        )
    for variable in layer.variables:
        variable.trainable = False
    for dense in found:
        dense.enable_lora(rank, lora_alpha=alpha)
    return found


def merged_kernel(dense: keras.layers.Dense) -> np.ndarray:
    """Returns the float32 kernel of a dense layer, with its LoRA matrices merged in."""
    # `dense.kernel` has them merged, but in the compute dtype.
    [kernel] = [np.asarray(weight, "float32") for weight in dense.weights if weight.name == "kernel"]
    if not dense.lora_enabled:
        return kernel
    scale = np.float32(dense.lora_alpha / dense.lora_rank)
    return kernel + scale * (np.asarray(dense.lora_kernel_a) @ np.asarray(dense.lora_kernel_b))
