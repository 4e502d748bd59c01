"""Deterministic operations."""

import os

import keras

_XLA_FLAG = "--xla_gpu_deterministic_ops=true"


def set_reproducible(seed: int) -> None:
    """Seeds all random numbers, and makes all operations of the backend deterministic.

    The same program then computes the same bits on the same machine. Without it that is so on a CPU, but on a GPU some
    operations, such as the gradient of an embedding, add in an order that changes from run to run. Deterministic ones
    are slower there, and operations that have no deterministic variant raise an error. Call it before you make a model;
    on TensorFlow it cannot be undone.

    Args:
        seed: Seed of Python, NumPy and the backend, as for `keras.utils.set_random_seed`.

    Raises:
        ValueError: On JAX with a GPU, if `XLA_FLAGS` does not contain `--xla_gpu_deterministic_ops=true`, which XLA
            reads when it starts.
    """
    keras.utils.set_random_seed(seed)
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        tf.config.experimental.enable_op_determinism()
    elif backend == "torch":
        import torch

        torch.use_deterministic_algorithms(True)
    elif backend == "jax":
        import jax

        if jax.default_backend() == "gpu" and _XLA_FLAG not in os.environ.get("XLA_FLAGS", ""):
            raise ValueError(
                f"Deterministic operations on a GPU need the flag {_XLA_FLAG} when JAX starts. Received: "
                f"XLA_FLAGS={os.environ.get('XLA_FLAGS', '')!r}. Set that variable in the environment."
            )
