"""Do two devices add up what they exchange? `python -m zoo.tf.self_test GPU:0 GPU:1`; fresh in each process.

A process can have one set of replicas only, and links between some devices of a machine may be bad while others work.
"""

import sys

import numpy as np
import tensorflow as tf

SIZE = 1_000_000  # Numbers to exchange; their sums are exact in float32.


def all_reduce(devices: list[str]) -> None:
    """Adds a known vector over devices, and compares the sum on each.

    Raises:
        ArithmeticError: If a device has another sum; the message names it and the first wrong place.
    """
    if devices[0].startswith("CPU"):
        (cpu,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * len(devices))
    strategy = tf.distribute.MirroredStrategy(devices)
    vector = np.arange(SIZE, dtype="float32")

    @tf.function
    def exchanged():
        def replica():
            context = tf.distribute.get_replica_context()
            factor = tf.cast(context.replica_id_in_sync_group + 1, "float32")
            return context.all_reduce("sum", factor * vector)

        return strategy.run(replica)

    expected = vector * sum(range(1, len(devices) + 1))
    for device, found in zip(devices, strategy.experimental_local_results(exchanged())):
        wrong = np.flatnonzero(found.numpy() != expected)
        if len(wrong):
            i = wrong[0]
            raise ArithmeticError(
                f"{device} has {len(wrong):,} wrong sums of {SIZE:,}, the first at {i}: "
                f"{found.numpy()[i]} instead of {expected[i]}."
            )


if __name__ == "__main__":
    all_reduce(sys.argv[1:])
    print("right")
