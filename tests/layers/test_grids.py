"""Tests of the layers that turn images into grids of vectors, and of the positions of grids."""

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import (
    ConvolutionalEmbedding,
    Encoder,
    GridPositionalEncoding,
    LearnedGridPositionalEncoding,
    PatchEmbedding,
    ResidualConvolutions,
    sinusoidal_encoding,
)

B, H, W, C, D, P = 2, 6, 9, 3, 8, 3
X = checks.array(B, H, W, C)
MASK = np.zeros((B, H, W), bool)
MASK[0], MASK[1, :4, :5] = True, True


def ready(layer, *shape):
    layer.build((None, None, None, *(shape or (C,))))
    return checks.randomize(layer)


def test_patches_are_projected():
    layer = ready(PatchEmbedding(D, P))
    kernel, bias = (checks.numpy(weight) for weight in layer.weights)
    expected = np.zeros((B, H // P, W // P, D))
    for i in range(H // P):
        for j in range(W // P):
            patch = X[:, i * P : (i + 1) * P, j * P : (j + 1) * P].reshape(B, -1)
            expected[:, i, j] = patch @ kernel.reshape(-1, D) + bias
    np.testing.assert_allclose(checks.numpy(layer(X)), expected, atol=1e-5)


def test_patches_with_a_real_pixel_are_real():
    found = checks.mask_of(ready(PatchEmbedding(D, P))(checks.with_mask(X, MASK)))
    expected = MASK.reshape(B, H // P, P, W // P, P).any((2, 4))
    np.testing.assert_array_equal(checks.numpy(found), expected)
    assert expected.any() and not expected.all()
    assert checks.mask_of(ready(PatchEmbedding(D, P))(X)) is None


def convolution(x, kernel):
    """Computes a convolution pixel by pixel, with zeros around the image."""
    size, _, _, filters = kernel.shape
    padded = np.pad(x, ((0, 0), (size // 2, size // 2), (size // 2, size // 2), (0, 0)))
    y = np.zeros((*x.shape[:3], filters))
    for i in range(x.shape[1]):
        for j in range(x.shape[2]):
            y[:, i, j] = np.einsum("bijc,ijcf->bf", padded[:, i : i + size, j : j + size], kernel)
    return y


def by_convolutions(x, kernels):
    """Computes eq. 6 of Hassani et al. (2021) pixel by pixel."""
    for kernel in kernels:
        y = np.maximum(convolution(x, kernel), 0)
        rows, columns = x.shape[1:3]
        centres = [range(0, size, 2) for size in (rows, columns)]
        pooled = [
            [y[:, max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2].max((1, 2)) for j in centres[1]] for i in centres[0]
        ]
        x = np.array(pooled).transpose(2, 0, 1, 3)
    return x


@pytest.mark.parametrize("size", [(6, 9), (5, 4)])
def test_convolutions_embed(size):
    layer, x = ready(ConvolutionalEmbedding(D, inner_dim=5)), checks.array(B, *size, C)
    expected = by_convolutions(x, [checks.numpy(weight) for weight in layer.trainable_weights])
    found = checks.numpy(layer(x))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert layer.compute_output_shape(x.shape) == found.shape


def residual(x, layer):
    """Computes the equation of He et al. (2016), figure 4e, normalized by each cell or by moving averages."""
    y = x
    for norm, kernel in zip(layer.norms, layer.kernels):
        mean, variance = y.mean(-1, keepdims=True), y.var(-1, keepdims=True)
        if layer.normalization == "batch":
            mean, variance = checks.numpy(norm.moving_mean), checks.numpy(norm.moving_variance)
        y = (y - mean) / np.sqrt(variance + norm.epsilon) * checks.numpy(norm.gamma) + checks.numpy(norm.beta)
        y = convolution(np.maximum(y, 0), checks.numpy(kernel))
    return x + y


@pytest.mark.parametrize("normalization", ["layer", "batch"])
def test_residual_convolutions(normalization):
    layer = ready(ResidualConvolutions(normalization=normalization))
    for number, norm in enumerate(layer.norms if normalization == "batch" else ()):
        norm.moving_mean.assign(checks.array(C, seed=number))
        norm.moving_variance.assign(checks.array(C, seed=number) ** 2 + 0.5)
    np.testing.assert_allclose(checks.numpy(layer(X)), residual(X, layer), rtol=1e-4, atol=1e-4)
    found = checks.numpy(checks.mask_of(layer(checks.with_mask(X, MASK))))
    np.testing.assert_array_equal(found, MASK)


def test_batch_statistics_are_of_real_cells():
    found = []
    for padding in 0, 9:
        layer = ready(ResidualConvolutions(normalization="batch"))
        layer(np.where(MASK[..., None], X, padding).astype("float32"), mask=MASK, training=True)
        found.append([checks.numpy(variable) for variable in layer.non_trainable_variables])
    mean = found[0][0] / (1 - layer.norms[0].momentum)
    np.testing.assert_allclose(mean, X[MASK].mean(0), rtol=1e-4, atol=1e-5)
    assert len(found[0]) == 4
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_channels_grow():
    layer = ready(ConvolutionalEmbedding(D, num_layers=4, inner_dim=2, channel_growth=3))
    assert [tuple(kernel.shape[2:]) for kernel in layer.kernels] == [(C, 2), (2, 6), (6, 18), (18, D)]


def test_residual_convolutions_behind_each_convolution():
    layer = ready(ConvolutionalEmbedding(D, inner_dim=5, num_residual_blocks=2))
    expected = X
    for kernel, blocks in zip(layer.kernels, layer.residuals, strict=True):
        assert len(blocks) == 2
        expected = by_convolutions(expected, [checks.numpy(kernel)])
        for block in blocks:
            expected = residual(expected, block)
    np.testing.assert_allclose(checks.numpy(layer(X)), expected, rtol=1e-4, atol=1e-4)


def test_padding_changes_no_real_cell():
    """Images of different sizes in a batch."""
    convolutions = ConvolutionalEmbedding(D, inner_dim=5), ConvolutionalEmbedding(D, num_residual_blocks=1)
    for layer, height in (convolutions[0], 5), (convolutions[1], 5), (PatchEmbedding(D, 2), 4):
        small = checks.array(1, height, 8, C)
        padded = np.full((1, 8, 12, C), 9.0, "float32")
        mask = np.zeros((1, 8, 12), bool)
        padded[:, :height, :8], mask[:, :height, :8] = small, True
        whole, alone = ready(layer)(checks.with_mask(padded, mask)), checks.numpy(layer(small))
        rows, columns = alone.shape[1:3]
        np.testing.assert_allclose(checks.numpy(whole)[:, :rows, :columns], alone, rtol=1e-5, atol=1e-5)
        found = checks.numpy(checks.mask_of(whole))
        assert found[:, :rows, :columns].all() and found.sum() == rows * columns


def test_rows_and_columns_have_sinusoids():
    layer, x = GridPositionalEncoding(), checks.array(B, 3, 5, D)
    rows, columns = (checks.numpy(sinusoidal_encoding(np.arange(size), D // 2)) for size in (3, 5))
    expected = np.array([[np.concatenate([rows[i], columns[j]]) for j in range(5)] for i in range(3)])
    np.testing.assert_allclose(checks.numpy(layer(x)), x + expected, atol=1e-6)


def test_learned_positions_fit_other_grids():
    """Resized as Pillow resizes an image, of which each width is a channel."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    layer = ready(LearnedGridPositionalEncoding(4, 5), D)
    table = checks.numpy(layer.embeddings)
    np.testing.assert_allclose(checks.numpy(layer(np.zeros((1, 4, 5, D), "float32"))), table[None], atol=1e-6)
    for interpolation, method in (("bicubic", image.BICUBIC), ("bilinear", image.BILINEAR)):
        layer.interpolation = interpolation
        channels = [image.fromarray(table[..., d], "F").resize((10, 7), method) for d in range(D)]
        expected = np.stack([np.asarray(channel) for channel in channels], -1)
        np.testing.assert_allclose(checks.numpy(layer(np.zeros((1, 7, 10, D), "float32")))[0], expected, atol=1e-3)


def test_convolutions_are_saved(tmp_path):
    inputs = keras.Input((None, None, C))
    options = {"num_residual_blocks": 1, "kernel_size": 5, "channel_growth": 2, "normalization": "batch"}
    model = keras.Model(inputs, ConvolutionalEmbedding(D, 3, **options)(inputs))
    checks.randomize(model)
    found = checks.numpy(checks.reloaded(model, tmp_path)(X))
    np.testing.assert_allclose(found, checks.numpy(model(X)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("positions", [GridPositionalEncoding, lambda: LearnedGridPositionalEncoding(4, 4)])
def test_in_a_functional_model(positions, tmp_path):
    """Embeds, adds positions, encodes the cells; is saved, and takes any size."""
    inputs = keras.Input((None, None, C))
    grid = positions()(PatchEmbedding(D, P)(inputs))
    model = keras.Model(inputs, Encoder(1, 2, 16)(keras.layers.Reshape((-1, D))(grid)))
    checks.randomize(model)
    found = checks.numpy(model(X))
    assert found.shape == (B, (H // P) * (W // P), D)
    np.testing.assert_allclose(checks.numpy(checks.reloaded(model, tmp_path)(X)), found, atol=1e-6)


def test_half_precision():
    policy = {"dtype": "mixed_bfloat16"}
    for layer in (PatchEmbedding(D, P, **policy), ConvolutionalEmbedding(D, num_residual_blocks=1, **policy)):
        outputs = GridPositionalEncoding(dtype="mixed_bfloat16")(ready(layer)(X))
        assert keras.backend.standardize_dtype(outputs.dtype) == "bfloat16"
        assert np.isfinite(checks.numpy(ops.cast(outputs, "float32"))).all()


def test_invalid_sizes_raise():
    for wrong in (
        lambda: PatchEmbedding(0, 4),
        lambda: PatchEmbedding(8, 2.0),
        lambda: ConvolutionalEmbedding(8, num_layers=0),
        lambda: LearnedGridPositionalEncoding(0, 4),
        lambda: ResidualConvolutions(0),
        lambda: ConvolutionalEmbedding(8, channel_growth=0),
    ):
        with pytest.raises(ValueError, match="must be a positive integer. Received"):
            wrong()
    with pytest.raises(
        ValueError, match="`num_residual_blocks` must be an integer of at least 0. Received: num_residual_blocks=-1"
    ):
        ConvolutionalEmbedding(8, num_residual_blocks=-1)
    with pytest.raises(ValueError, match="Only residual blocks are normalized. Received: normalization='batch'"):
        ConvolutionalEmbedding(8, normalization="batch")
    with pytest.raises(ValueError, match="must be 'layer' or 'batch'. Received: normalization='group'"):
        ResidualConvolutions(normalization="group")
    with pytest.raises(ValueError, match="multiples of patch_size=4"):
        PatchEmbedding(D, 4)(X)
    with pytest.raises(ValueError, match="a multiple of 4"):
        GridPositionalEncoding()(np.zeros((1, 2, 2, 6), "float32"))
    with pytest.raises(ValueError, match="known number of channels"):
        PatchEmbedding(D, P).build((None, 4, 4, None))
    with pytest.raises(ValueError, match="'bicubic' or 'bilinear'"):
        LearnedGridPositionalEncoding(4, 4, "nearest")
