"""Conversion of functions of tensors to ONNX and LiteRT, by tf2onnx and TensorFlow's converter."""

import pathlib
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer import set_value_checks
from keras_transformer.ops.values import value_checks_enabled

_OPSET = 18  # The newest that tf2onnx 1.17 writes.
_INT64 = 7  # ONNX's number of the type.
_LAST = np.iinfo("int64").max


def onnx_files(graphs: Mapping[str, Any], quantization: str | None) -> dict[str, bytes]:
    """Returns an ONNX model for each graph, by the name of its file.

    Args:
        graphs: `zoo.conversion.model_graphs.Graph`s by name.
        quantization: "int8" for matrices and tables in 8 bits, each column with a scale of its own, or None.
    """
    import tf2onnx

    files = {}
    for name, graph in graphs.items():
        function = _function(graph)
        # They are not in tf2onnx; without an import of a domain they become nodes of ONNX's own.
        handlers = {"Erfc": (_convert_erfc, []), "XlaDynamicUpdateSlice": (_convert_update, [])}
        model, _ = tf2onnx.convert.from_function(
            function, input_signature=function.input_signature, opset=_OPSET, custom_op_handlers=handlers
        )
        for values, specs in ((model.graph.input, graph.inputs), (model.graph.output, graph.outputs)):
            for value in values:
                _name_axes(value.type.tensor_type.shape, specs[value.name].shape)
        files[f"{name}.onnx"] = (_quantized(model) if quantization else model).SerializeToString()
    return files


def litert_files(graphs: Mapping[str, Any], quantization: str | None) -> dict[str, bytes]:
    """Returns one LiteRT model, whose signatures are the graphs, by the name of its file.

    It has operations of LiteRT only. Arguments as for `onnx_files`.
    """
    module, functions = tf.Module(), {name: _function(graph) for name, graph in graphs.items()}
    module.tracked = [function.get_concrete_function().variables for function in functions.values()]
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures=functions)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=[*functions])
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        if quantization:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        return {"model.tflite": converter.convert()}


def _function(graph):
    """Returns the traced `tf.function` of a graph, without checks of values, which other runtimes do not have."""
    specs = [
        tf.TensorSpec([size if isinstance(size, int) else None for size in spec.shape], spec.dtype, name)
        for name, spec in graph.inputs.items()
    ]
    function, checked = tf.function(graph.function, input_signature=specs, autograph=False), value_checks_enabled()
    set_value_checks(False)
    try:
        function.get_concrete_function()
    finally:
        set_value_checks(checked)
    return function


def _name_axes(shape, axes):
    for dimension, size in zip(shape.dim, axes, strict=True):
        if isinstance(size, str):
            dimension.dim_param = size


def _quantized(model):
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.onnx")
        # 7 bits: products of 8 bits overflow on processors without VNNI.
        quantize_dynamic(model, path, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
        return onnx.load(path)


def _convert_erfc(context, node, name, args):
    """Replaces erfc(x) by 1 - erf(x)."""
    (output,), shapes, dtypes = node.output, node.output_shapes, node.output_dtypes
    context.remove_node(node.name)
    one = context.make_const(f"{name}_one", np.float32(1)).output[0]
    erf = context.make_node("Erf", node.input[:1]).output[0]
    context.make_node("Sub", [one, erf], outputs=[output], name=name, shapes=shapes, dtypes=dtypes)


def _convert_update(context, node, name, args):
    """Replaces an update of an array from some step of axis 1 on, where all else starts at 0, as caches are written."""
    (output,), shapes, dtypes = node.output, node.output_shapes, node.output_dtypes
    array, update, starts = node.input
    context.remove_node(node.name)

    def constant(key, *values):
        return context.make_const(f"{name}_{key}", np.array(values, "int64")).output[0]

    def make(kind, *inputs, **options):
        return context.make_node(kind, list(inputs), **options).output[0]

    zero, one, two, last = (constant(f"at_{key}", key) for key in (0, 1, 2, _LAST))
    start = make("Slice", make("Cast", starts, attr={"to": _INT64}), one, two)
    end = make("Add", start, make("Slice", make("Shape", update), one, two))
    parts = make("Slice", array, zero, start, one), update, make("Slice", array, end, last, one)
    attributes = {"axis": 1}
    context.make_node("Concat", list(parts), attr=attributes, outputs=[output], name=name, shapes=shapes, dtypes=dtypes)
