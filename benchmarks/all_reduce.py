"""What the all-reduce of the token counts costs, as a share of a train step under MirroredStrategy.

    python benchmarks/all_reduce.py --replicas 2

Replicas are logical CPUs, which share the cores of the machine: the all-reduce goes through memory, as on one GPU
machine it goes over NVLink or PCIe. The model is the recipe `tiny`, a replica's batch 32 pairs of 20 tokens.
"""

import argparse
import time

import numpy as np
import tensorflow as tf
from keras import ops

from keras_transformer.ops.replicas import sum_over_replicas
from keras_transformer.training import TokenCrossEntropy, prepare_replicas
from zoo.models.seq2seq import Seq2Seq
from zoo.tf.adam import Adam
from zoo.translation.recipes import TINY

REPEATS = 50


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * options.replicas)
    strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(options.replicas)])

    with strategy.scope():
        model = prepare_replicas(Seq2Seq(TINY.model))
        model.build()
        model.compile(Adam(1e-3), TokenCrossEntropy(0.1))
    rows = 32 * options.replicas
    ids = np.random.default_rng(0).integers(4, TINY.model.vocabulary_size, (2, rows, 20), "int32")
    batch = tf.data.Dataset.from_tensors(({"source": ids[0], "target": ids[1]}, ids[1])).repeat()
    model.fit(batch, steps_per_epoch=5, verbose=0)
    start = time.perf_counter()
    model.fit(batch, steps_per_epoch=options.steps, verbose=0)
    step = (time.perf_counter() - start) / options.steps

    @tf.function
    def exchange():
        def replica():
            total = ops.convert_to_tensor([900.0, 32.0])
            for _ in range(REPEATS):  # No loop of TensorFlow's may hold an all-reduce.
                total = sum_over_replicas(total) / options.replicas
            return total

        return strategy.run(replica)

    exchange()
    start = time.perf_counter()
    exchange()
    exchanged = (time.perf_counter() - start) / REPEATS
    print(
        f"{options.replicas} replicas: a step {step * 1e3:.1f} ms, the all-reduce of token counts "
        f"{exchanged * 1e3:.3f} ms, {exchanged / step:.2%} of it"
    )


if __name__ == "__main__":
    main()
