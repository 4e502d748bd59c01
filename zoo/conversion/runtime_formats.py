"""The formats of other runtimes: their packages and quantizations. Standard library only."""

from typing import NamedTuple

from zoo.extras import require


class RuntimeFormat(NamedTuple):
    """Title of a format, modules that writing it needs, the one that computes it, and types of quantized matrices."""

    title: str
    modules: tuple[str, ...]
    runtime: str
    quantizations: tuple[str, ...]

    def require(self) -> None:
        """Raises `ImportError` if a package that writing needs is missing."""
        require(f"Export to {self.title}", *self.modules)

    def require_runtime(self) -> None:
        """Raises `ImportError` if the package that computes a model of the format is missing."""
        require(f"A model for {self.title}", self.runtime)


FORMATS = {
    "ctranslate2": RuntimeFormat("CTranslate2", ("ctranslate2",), "ctranslate2", ("int8", "float16")),
    "onnx": RuntimeFormat("ONNX", ("onnx", "onnxruntime", "tf2onnx"), "onnxruntime", ("int8",)),
    "litert": RuntimeFormat("LiteRT", ("ai_edge_litert",), "ai_edge_litert", ("int8",)),
}
