"""Compilation of functions by the backend that Keras runs on."""

from collections.abc import Callable

import keras

from zoo.models.auto_compile import AutoCompiled
from zoo.storage.downloads import cache_folder, program_cache_megabytes


def compile_function(
    model: keras.Model, function: Callable, jit_compile: bool | str = False, pad: Callable | None = None
) -> Callable:
    """Compiles `function(*tensors)`, which reads the variables of `model` but changes none.

    TensorFlow traces one graph for all batch sizes and lengths; with `jit_compile` it compiles each shape by XLA, with
    "auto" in the background and only shapes that repeat, see `zoo.models.auto_compile.AutoCompiled` for `pad`. JAX
    always compiles each shape and receives the variables as arguments, so that weights assigned later take effect.
    Torch runs the function uncompiled.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        from zoo.tf.graphs import graph_function

        if jit_compile == "auto":
            return AutoCompiled(graph_function(function), graph_function(function, jit_compile=True), pad)
        return graph_function(function, jit_compile)
    if backend == "jax":
        return _jax_function(model, function)
    return function


def start_program_cache() -> None:
    """Lets TensorFlow keep what XLA compiles; does nothing on other backends, which need no call before all others."""
    if keras.backend.backend() == "tensorflow":
        from zoo.tf.xla_cache import persistent_cache

        persistent_cache()


def _jax_function(model, function):
    import jax

    _use_program_cache(jax)

    @jax.jit
    def stateless(values, arguments):
        with keras.StatelessScope(state_mapping=zip(model.variables, values)):
            return function(*arguments)

    return lambda *arguments: stateless([variable.value for variable in model.variables], arguments)


def _use_program_cache(jax):
    """Lets JAX keep what it compiles in the cache folder, unless a program has set a folder of its own."""
    megabytes = program_cache_megabytes()
    if megabytes > 0 and not jax.config.jax_compilation_cache_dir:
        jax.config.update("jax_compilation_cache_dir", str(cache_folder() / "jax"))
        jax.config.update("jax_compilation_cache_max_size", round(megabytes * 2**20))
