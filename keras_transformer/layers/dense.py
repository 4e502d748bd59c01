"""Dense layer with an exact bias gradient in half precision."""

import warnings

import keras
from keras import ops

from keras_transformer.ops.quantization import check_mode, delete_attribute, is_quantized
from keras_transformer.ops.sizes import flattened, sizes, unflattened
from keras_transformer.ops.values import check_dense


@keras.saving.register_keras_serializable("keras_transformer")
class Dense(keras.layers.Dense):
    """`keras.layers.Dense` with the exact gradient of the bias under mixed precision.

    That gradient is a sum over rows. TensorFlow and JAX compute it in the dtype of the rows, on a CPU row by row: in
    bfloat16 up to three quarters of a sum over 4,096 rows are lost. Here it is computed in float32.

    `quantize("int8")` works as in Keras; loading a file with an int8 kernel quantises the layer.
    """

    def call(self, inputs, training=None):
        check_dense(inputs)
        # As one matrix, TensorFlow computes product, bias and ReLU at once.
        x = ops.matmul(flattened(inputs), self.kernel)
        if self.bias is not None:
            whole = keras.backend.standardize_dtype(x.dtype) in ("float32", "float64")
            x = ops.add(x, self.bias) if whole else _add(x, ops.cast(self.bias, x.dtype))
        x = x if self.activation is None else self.activation(x)
        return x if len(inputs.shape) == 2 else unflattened(x, sizes(inputs)[:-1])

    def quantize(self, mode=None, type_check=True, config=None):
        check_mode(self, mode)
        # Keras accepts its own class only; quantisation works the same for this subclass.
        super().quantize(mode, type_check=type_check and type(self) is not Dense, config=config)

    __delattr__ = delete_attribute

    def save_own_variables(self, store):
        if self.lora_enabled:
            warnings.warn(
                "The file holds kernels with LoRA merged in: a model loaded from it has no LoRA, nothing in it is "
                "frozen, and its optimizer starts anew. To train it further with LoRA, call `enable_lora` again.",
                stacklevel=2,
            )
        super().save_own_variables(store)

    def load_own_variables(self, store):
        # Keras rebuilds a layer inside another one without its quantisation.
        if self.quantization_mode is None and is_quantized(store):
            self.quantize("int8")
        super().load_own_variables(store)


@ops.custom_gradient
def _add(x, bias):
    def gradient(*args, upstream=None):
        upstream = args[0] if upstream is None else upstream
        return upstream, ops.cast(ops.sum(ops.cast(upstream, "float32"), axis=0), bias.dtype)

    return ops.add(x, bias), gradient
