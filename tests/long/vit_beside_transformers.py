"""ViT and DeiT of real size give the logits that they give in transformers with torch, with random weights.

    KERAS_BACKEND=torch python tests/long/vit_beside_transformers.py

Needs torch, transformers, keras, pillow, safetensors and rich, and no TensorFlow. `--folder` compares a model on disk
instead, such as one of published weights.
"""

import argparse
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("KERAS_BACKEND", "torch")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import numpy as np
import torch
import transformers
from keras import ops

from zoo.conversion.from_vit import load_vit

_SMALL = dict(hidden_size=384, num_attention_heads=6, intermediate_size=1536)
MODELS = {
    "ViTForImageClassification": transformers.ViTConfig(num_labels=1000),
    "DeiTForImageClassification": transformers.DeiTConfig(**_SMALL, num_labels=1000),
    "DeiTForImageClassificationWithTeacher": transformers.DeiTConfig(**_SMALL, num_labels=1000),
}
PIXELS = {"vit": ([0.5] * 3, [0.5] * 3), "deit": ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])}


def main() -> int:
    """Prints the largest differences; returns 1 if one is above 1e-4."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, help="folder of a model")
    options = parser.parse_args()
    worst = 0.0
    with tempfile.TemporaryDirectory() as parent:
        folders = [options.folder] if options.folder else [*make_folders(pathlib.Path(parent))]
        for folder in folders:
            theirs = transformers.AutoConfig.from_pretrained(folder)
            model = getattr(transformers, theirs.architectures[0]).from_pretrained(folder).eval()
            images = np.random.default_rng(0).integers(0, 256, (4, theirs.image_size, theirs.image_size, 3), "uint8")
            mean, deviation = map(np.array, PIXELS[theirs.model_type])
            pixels = ((images / 255 - mean) / deviation).transpose(0, 3, 1, 2).astype("float32")
            with torch.no_grad():
                expected = model(torch.tensor(pixels)).logits.numpy()
            found = ops.convert_to_numpy(load_vit(folder).model({"images": images}))
            apart = np.abs(found - expected).max()
            worst = max(worst, apart)
            images_apart = np.abs(expected - expected[0]).max()
            print(f"{theirs.architectures[0]}: images differ by {images_apart:.2f}, both packages by {apart:.1e}")
    return int(worst > 1e-4)


def make_folders(parent):
    """Yields the folder of each model, with weights that are large enough for logits that differ."""
    for name, config in MODELS.items():
        torch.manual_seed(0)
        model = getattr(transformers, name)(config)
        for parameter_name, parameter in model.named_parameters():
            of_norm = "layernorm" in parameter_name and parameter_name.endswith("weight")
            torch.nn.init.normal_(parameter, mean=float(of_norm), std=0.05)
        model.save_pretrained(parent / name)
        yield parent / name


if __name__ == "__main__":
    sys.exit(main())
