"""Compilation of functions by the backend that Keras runs on."""

from collections.abc import Callable

import keras


def compile_function(model: keras.Model, function: Callable, jit_compile: bool = False) -> Callable:
    """Compiles `function(*tensors)`, which reads the variables of `model` but changes none.

    TensorFlow traces one graph for all batch sizes and lengths or, with `jit_compile`, compiles each shape by XLA. JAX
    always compiles each shape and receives the variables as arguments, so that weights assigned later take effect.
    Torch runs the function uncompiled.
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
