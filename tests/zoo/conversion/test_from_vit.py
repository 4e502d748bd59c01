"""Converted ViT and DeiT compute what their papers say, in NumPy from the published names of the weights."""

import json

import numpy as np
import pytest
import safetensors.numpy
from scipy.special import erf

import zoo
from zoo.conversion.from_vit import load_vit

WIDTH, LAYERS, HEADS, INNER, SIZE, PATCH, CLASSES = 12, 2, 3, 20, 8, 4, 3
MEAN, DEVIATION = np.array([0.5, 0.4, 0.3]), np.array([0.2, 0.3, 0.25])
ARCHITECTURES = {
    "ViTForImageClassification": ("vit", ["classifier"]),
    "DeiTForImageClassification": ("deit", ["classifier"]),
    "DeiTForImageClassificationWithTeacher": ("deit", ["cls_classifier", "distillation_classifier"]),
}


def random_weights(architecture):
    kind, heads = ARCHITECTURES[architecture]
    rng, tokens = np.random.default_rng(0), ["cls_token"] + ["distillation_token"] * (kind == "deit")
    shapes = {f"{kind}.embeddings.{token}": (1, 1, WIDTH) for token in tokens}
    shapes[f"{kind}.embeddings.position_embeddings"] = 1, len(tokens) + (SIZE // PATCH) ** 2, WIDTH
    layers = {f"{kind}.embeddings.patch_embeddings.projection": (WIDTH, 3, PATCH, PATCH)}
    norms = [f"{kind}.layernorm"]
    for i in range(LAYERS):
        block = f"{kind}.encoder.layer.{i}"
        parts = *(f"attention.attention.{part}" for part in ("query", "key", "value")), "attention.output.dense"
        layers |= {f"{block}.{part}": (WIDTH, WIDTH) for part in parts}
        layers |= {f"{block}.intermediate.dense": (INNER, WIDTH), f"{block}.output.dense": (WIDTH, INNER)}
        norms += [f"{block}.layernorm_before", f"{block}.layernorm_after"]
    layers |= {head: (CLASSES, WIDTH) for head in heads}
    for name, shape in layers.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    shapes |= {f"{norm}.{part}": (WIDTH,) for norm in norms for part in ("weight", "bias")}
    return {name: (0.4 * rng.normal(size=shape)).astype("float32") for name, shape in shapes.items()}


def write(folder, architecture, arrays=None, **changes):
    kind, _ = ARCHITECTURES[architecture]
    config = {
        "architectures": [architecture],
        "model_type": kind,
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": INNER,
        "image_size": SIZE,
        "patch_size": PATCH,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "id2label": {"0": "cat", "1": "dog", "2": "tea, cup"},
    }
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    arrays = random_weights(architecture) if arrays is None else arrays
    safetensors.numpy.save_file(arrays, folder / "model.safetensors")
    pixels = {"image_mean": MEAN.tolist(), "image_std": DEVIATION.tolist()}
    (folder / "preprocessor_config.json").write_text(json.dumps(pixels))
    return arrays


def expected_logits(image, arrays, architecture):
    """Computes the logits of an image, uint8 `[H, W, 3]`: Dosovitskiy et al. (2021), eq. 1 to 4."""
    kind, heads = ARCHITECTURES[architecture]
    weights = {name.removeprefix(f"{kind}."): array.astype("float64") for name, array in arrays.items()}

    def dense(x, name):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    pixels = (image / 255 - MEAN) / DEVIATION
    kernel = weights["embeddings.patch_embeddings.projection.weight"].reshape(WIDTH, -1)
    x = [weights[f"embeddings.{token}"][0, 0] for token in ("cls_token", "distillation_token")[: 1 + (kind == "deit")]]
    for row in range(0, SIZE, PATCH):
        for column in range(0, SIZE, PATCH):
            patch = pixels[row : row + PATCH, column : column + PATCH].transpose(2, 0, 1).ravel()
            x.append(kernel @ patch + weights["embeddings.patch_embeddings.projection.bias"])
    x = np.array(x) + weights["embeddings.position_embeddings"][0]
    for i in range(LAYERS):
        block, size = f"encoder.layer.{i}", WIDTH // HEADS
        y, attended = norm(x, f"{block}.layernorm_before"), []
        query, key, value = (dense(y, f"{block}.attention.attention.{part}") for part in ("query", "key", "value"))
        for part in (slice(head * size, (head + 1) * size) for head in range(HEADS)):
            scores = np.exp(query[:, part] @ key[:, part].T / np.sqrt(size))
            attended.append(scores / scores.sum(-1, keepdims=True) @ value[:, part])
        x = x + dense(np.concatenate(attended, -1), f"{block}.attention.output.dense")
        inner = dense(norm(x, f"{block}.layernorm_after"), f"{block}.intermediate.dense")
        x = x + dense(inner * (1 + erf(inner / np.sqrt(2))) / 2, f"{block}.output.dense")
    x = norm(x, "layernorm")
    return np.mean([dense(x[place], head) for place, head in enumerate(heads)], axis=0)


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(1).integers(0, 256, (3, SIZE, SIZE, 3), "uint8")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_logits_are_those_of_the_paper(architecture, images, tmp_path):
    arrays = write(tmp_path / "model", architecture)
    predictor = zoo.load(tmp_path / "model")
    found = np.asarray(predictor.model({"images": images}))
    expected = np.array([expected_logits(image, arrays, architecture) for image in images])
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert predictor.labels == ["cat", "dog", "tea, cup"]
    assert np.abs(expected - expected[0]).max() > 1e-2
    share = predictor.attention(list(images))
    assert share.shape == (3, 2, 2) and (share > 0).all() and share.sum() < 3


def test_converted_models_are_checkpoints(images, tmp_path):
    write(tmp_path / "model", "ViTForImageClassification")
    predictor = load_vit(tmp_path / "model")
    predictor.save(tmp_path / "saved")
    loaded = zoo.load(tmp_path / "saved")
    assert loaded.classify(list(images)) == predictor.classify(list(images))


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"architectures": ["ViTModel"]}, "must have an architecture of ViTForImageClassification or"),
        ({"id2label": {"0": "cat"}}, "must name at least two classes"),
        ({"id2label": {"a": "cat", "b": "dog"}}, "must name its classes by numbers"),
        ({"hidden_act": "tanh"}, "hidden_act='tanh'"),
        ({"qkv_bias": False}, "qkv_bias=False"),
        ({"hidden_size": 16, "num_attention_heads": 4}, "must have shape"),
        ({"num_hidden_layers": 1}, "block_1"),
    ],
)
def test_other_models_are_refused(changes, message, tmp_path):
    write(tmp_path / "model", "ViTForImageClassification", **changes)
    with pytest.raises(ValueError, match=message):
        load_vit(tmp_path / "model")


def test_arrays_that_are_too_many_are_refused(tmp_path):
    arrays = random_weights("ViTForImageClassification")
    write(tmp_path / "model", "ViTForImageClassification", {**arrays, "vit.extra.weight": np.zeros(3, "float32")})
    with pytest.raises(ValueError, match="do not have: 'extra.weight'"):
        load_vit(tmp_path / "model")
    write(tmp_path / "more", "ViTForImageClassification", {**arrays, "vit.pooler.dense.bias": np.zeros(3, "float32")})
    load_vit(tmp_path / "more")
