"""Whether XLA will compile what is traced."""

from typing import Any


def compiled_by_xla(graph: Any) -> bool:
    """Returns whether a TensorFlow graph is traced for XLA: by a function with `jit_compile=True`, or inside of one."""
    from tensorflow.python.ops import control_flow_util  # TensorFlow's own loops ask it, too.

    return control_flow_util.GraphOrParentsInXlaContext(graph)
