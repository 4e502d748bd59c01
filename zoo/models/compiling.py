"""Functions of a model's variables, compiled by whatever backend Keras runs on."""

from collections.abc import Callable

import keras


def compiled(model: keras.Model, function: Callable, jit_compile: bool = False) -> Callable:
    """Compiles `function(*tensors)`, which reads the variables of `model` but changes none.

    TensorFlow traces a graph that takes any batch size and length or, with `jit_compile`, compiles each shape by XLA;
    JAX always compiles each shape, and gets the variables as arguments, so that weights assigned later are seen; torch
    runs the function as it is.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        from zoo.tf.graphs import graph_function

        return graph_function(function, jit_compile)
    if backend == "jax":
        return _jax_function(model, function)
    return function


def _jax_function(model, function):
    import jax

    @jax.jit
    def stateless(values, arguments):
        with keras.StatelessScope(state_mapping=zip(model.variables, values)):
            return function(*arguments)

    return lambda *arguments: stateless([variable.value for variable in model.variables], arguments)
