"""Accelerators that estimates know."""

from typing import NamedTuple


class Device(NamedTuple):
    """An accelerator.

    Args:
        memory: Bytes.
        flops: Floating-point operations a second of large products, in the precision of training.
        bandwidth: Bytes of its memory that it reads or writes a second.
        link: Bytes a second that it sends to the others.
        update: Least seconds of an update, however small the model.
    """

    memory: float
    flops: float
    bandwidth: float
    link: float
    update: float = 0.0


# Products of H100 and H200, and updates, were measured; the other figures are those of the makers' data sheets, and the
# products of TPUs the same share of them, 80 %.
DEVICES = {
    "h100": Device(84e9, 790e12, 3.35e12, 450e9, 0.015),
    "h200": Device(149e9, 790e12, 4.8e12, 450e9, 0.015),
    "tpu-v5e": Device(16e9, 158e12, 0.82e12, 100e9, 0.015),
    "tpu-v5p": Device(95e9, 367e12, 2.76e12, 300e9, 0.015),
}
