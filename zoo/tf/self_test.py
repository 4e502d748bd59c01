"""Test of all-reduce between devices: `python -m zoo.tf.self_test GPU:0 GPU:1`.

Each pair of devices needs its own process, since a process can have only one set of replicas, and the links between
some devices of a machine may be faulty while others work.
"""

import sys

import numpy as np
import tensorflow as tf

SIZE = 1_000_000  # Numbers to exchange; their sums are exact in float32.


def all_reduce(devices: list[str]) -> None:
    """Sums a known vector over devices, and checks the sum on each.

    Raises:
        ArithmeticError: If a device has a wrong sum; the message names the device and the first wrong index.
    """
    if devices[0].startswith("CPU"):
        (cpu,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * len(devices))
    strategy = tf.distribute.MirroredStrategy(devices)
    vector = np.arange(SIZE, dtype="float32")

    @tf.function
    def reduced():
        def replica():
            context = tf.distribute.get_replica_context()
            factor = tf.cast(context.replica_id_in_sync_group + 1, "float32")
            return context.all_reduce("sum", factor * vector)

        return strategy.run(replica)

    expected = vector * sum(range(1, len(devices) + 1))
    for device, found in zip(devices, strategy.experimental_local_results(reduced())):
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
