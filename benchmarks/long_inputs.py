"""Memory and time of an encoder on long inputs: scores in blocks beside all at once.

    python benchmarks/long_inputs.py [--steps 8192]

Peak memory is what a call adds to what was resident of a fresh process (VmHWM - VmRSS), after a call on a short input;
compilation for the long one is part of it. Times are medians of calls in turn in one process, at 2,048 steps.
KERAS_BACKEND chooses the backend.
"""

import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import time

WAYS = {"in blocks": None, "all at once": False}  # Of `flash_attention`.
WIDTH, HEADS = 32, 4


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=8192, help="of the input whose memory is measured")
    parser.add_argument("--width", type=int, default=WIDTH)
    parser.add_argument("--heads", type=int, default=HEADS)
    parser.add_argument("--timed-steps", type=int, default=2048)
    parser.add_argument("--one", nargs=2, metavar=("WAY", "PASS"), help="print the MiB of one call, for own use")
    options = parser.parse_args()
    if options.one:
        print(f"MiB={peak(*options.one, options):.0f}")
        return
    print(f"[1, {options.steps}, {options.width}], {options.heads} heads: MiB above those before the call")
    for name in WAYS:
        for what in ("forward", "gradient"):
            command = [sys.executable, *sys.argv, "--one", name, what]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            print(f"  {what:9}{name:12}{re.search(r'MiB=(.*)', output)[1]:>8}", flush=True)
    print(f"[1, {options.timed_steps}, {options.width}], {options.heads} heads: ms")
    calls = {(name, what): compiled(name, what, options) for name in WAYS for what in ("forward", "gradient")}
    inputs, times = random_inputs(options.timed_steps, options.width), {key: [] for key in calls}
    for _ in range(8):
        for key, call in calls.items():
            start = time.perf_counter()
            call(inputs)
            times[key].append(time.perf_counter() - start)
    for (name, what), taken in times.items():
        print(f"  {what:9}{name:12}{1e3 * statistics.median(taken[1:]):8.0f}", flush=True)


def peak(name, what, options):
    call = compiled(name, what, options)
    call(random_inputs(16, options.width))
    inputs = random_inputs(options.steps, options.width)
    before = resident("VmRSS")
    call(inputs)
    return resident("VmHWM") - before


def compiled(name, what, options):
    """One layer's forward pass, or its gradients by weights and inputs, of known shapes; waits for the result."""
    import keras
    from keras import ops

    from keras_transformer import EncoderBlock, MultiHeadAttention

    class Attention(MultiHeadAttention):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, flash_attention=WAYS[name], **kwargs)

    class Block(EncoderBlock):
        attention_class = Attention

    keras.utils.set_random_seed(1)
    layer = Block(options.heads, 4 * options.width)
    layer.build((1, None, options.width))
    weights = layer.trainable_variables
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        @tf.function(reduce_retracing=False)
        def call(x):
            if what == "forward":
                return layer(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = ops.sum(layer(x) ** 2)
            return tape.gradient(loss, [x, *(w.value for w in weights)])

        return lambda x: [ops.convert_to_numpy(y) for y in tf.nest.flatten(call(tf.constant(x)))]
    import jax

    def forward(values, x):
        return layer.stateless_call(values, [v.value for v in layer.non_trainable_variables], x)[0]

    def loss(values, x):
        return ops.sum(forward(values, x) ** 2)

    function = jax.jit(forward if what == "forward" else jax.grad(loss, argnums=(0, 1)))
    values = [w.value for w in weights]
    return lambda x: jax.block_until_ready(function(values, x))


def random_inputs(steps, width):
    import numpy as np

    return np.random.default_rng(0).normal(size=(1, steps, width)).astype("float32")


def resident(field):
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", status).group(1)) / 1024


if __name__ == "__main__":
    main()
