"""Time and memory of encoders as inputs grow: ours beside those of Keras, KerasHub and torch.

    python benchmarks/encoders.py --venvs VENVS
    python benchmarks/encoders.py --venvs VENVS --gradients --steps 128 512 2048
    python benchmarks/encoders.py --systems ours_whole ours_blocks ours_local --steps 256 512 1024 2048 --rounds 3

Two post-norm blocks, 256 wide, 4 heads, one row `[1, steps, 256]`, float32. `ours_whole` computes all scores at once,
`ours_blocks` in blocks of queries, `ours` whatever is faster at that length; `ours_local` attends within a sliding
window of 128 steps. VENVS is a folder of virtual environments as `peers.py` has it: `tf` with keras-hub, `pt` with
torch. Each figure comes from a process of its own, with `--rounds` the median of several: the median of calls behind
the first, and what they added to the memory that was resident before (VmHWM - VmRSS, Linux), tracing included. `^` is
the exponent of the time between half of the steps and all. The last lines have those of the line through the logarithms
of the largest four sizes, of time and of memory: 1 is linear, 2 is quadratic.
"""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS, WIDTH, INNER, HEADS = 2, 256, 1024, 4
WINDOW = 128
OURS = {"ours": {}, "ours_whole": {"flash_attention": False}, "ours_blocks": {"flash_attention": True}}
OURS["ours_local"] = {"sliding_window": WINDOW}
VENVS = {**dict.fromkeys(OURS, "tf"), "keras": "tf", "kerashub": "tf", "torch": "pt"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venvs", type=pathlib.Path, help="folder of the virtual environments")
    parser.add_argument("--systems", nargs="+", default=[*VENVS], choices=[*VENVS])
    parser.add_argument("--steps", type=int, nargs="+", default=[128 * 2**i for i in range(7)])
    parser.add_argument("--rounds", type=int, default=1, help="processes for each figure")
    parser.add_argument("--cpu", action="store_true", help="seconds of all threads, for machines with other processes")
    parser.add_argument("--gradients", action="store_true", help="of weights and inputs, instead of outputs alone")
    parser.add_argument("--worker", nargs=2, metavar=("SYSTEM", "STEPS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.worker[0], int(options.worker[1]), options)
    print(f"{'steps':>7}" + "".join(f"{name:>26}" for name in options.systems), flush=True)
    found = {}
    for steps in options.steps:
        cells = []
        for name in options.systems:
            rounds = [measure(name, steps, options) for _ in range(options.rounds)]
            if None in rounds:
                cells.append("failed")
                continue
            seconds, megabytes = found[name, steps] = [statistics.median(figures) for figures in zip(*rounds)]
            earlier = found.get((name, steps // 2))
            exponent = f" ^{math.log2(seconds / earlier[0]):.2f}" if earlier else ""
            cells.append(f"{1e3 * seconds:.1f} ms{exponent} {megabytes:.0f} MiB")
        print(f"{steps:>7}" + "".join(f"{cell:>26}" for cell in cells), flush=True)
    for number, what in enumerate(("time", "MiB")):
        curves = (
            [(steps, found[name, steps][number]) for steps in options.steps if (name, steps) in found]
            for name in options.systems
        )
        print(f"{what + ' ^':>7}" + "".join(f"{fitted_exponent(curve):>26}" for curve in curves), flush=True)


def measure(name, steps, options):
    """Returns the seconds and MiB that a process of its own finds, or None if it fails."""
    python = options.venvs / VENVS[name] / "bin" / "python" if options.venvs else sys.executable
    command = [
        python,
        __file__,
        "--worker",
        name,
        str(steps),
        *["--gradients"] * options.gradients,
        *["--cpu"] * options.cpu,
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if not done.returncode:
        return json.loads(done.stdout.splitlines()[-1])
    print(done.stderr[-500:], file=sys.stderr)


def fitted_exponent(curve):
    """Returns the slope of the line through the logarithms of the largest four sizes, as text."""
    points = [(math.log(steps), math.log(max(figure, 1e-9))) for steps, figure in curve[-4:]]
    if len(points) < 2:
        return ""
    return f"{statistics.linear_regression(*zip(*points)).slope:.2f}"


def work(name, steps, options):
    import numpy as np

    inputs = np.random.default_rng(0).normal(size=(1, steps, WIDTH)).astype("float32")
    call = (torch_call if name == "torch" else keras_call)(name, inputs, options.gradients)
    clock = time.process_time if options.cpu else time.perf_counter
    before, times = resident("VmRSS"), []
    while len(times) < 4 or (sum(times) < 3 and len(times) < 50):
        start = clock()
        call()
        times.append(clock() - start)
    print(json.dumps([statistics.median(times[1:]), resident("VmHWM") - before]))


def keras_call(name, inputs, gradients):
    import keras
    import tensorflow as tf

    blocks = [keras_block(name) for _ in range(LAYERS)]
    for block in blocks:
        block.build((None, None, WIDTH))
    weights = [weight.value for block in blocks for weight in block.trainable_weights]

    def encode(x):
        for block in blocks:
            x = block(x)
        return x

    @tf.function
    def run(x):
        if not gradients:
            return encode(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = keras.ops.sum(encode(x) ** 2)
        return tape.gradient(loss, [x, *weights])

    x = tf.constant(inputs)
    return lambda: [part.numpy() for part in tf.nest.flatten(run(x))]


def keras_block(name):
    if name.startswith("ours"):
        from keras_transformer import EncoderBlock, MultiHeadAttention

        class Block(EncoderBlock):
            def _make_attention(self, width, attention_name):
                return MultiHeadAttention(HEADS, width // HEADS, **OURS[name], name=attention_name)

        return Block(HEADS, INNER)
    if name == "kerashub":
        from keras_hub.layers import TransformerEncoder

        return TransformerEncoder(INNER, HEADS)
    from keras import Layer, layers

    class KerasBlock(Layer):
        """As in Keras's example of text classification with a Transformer."""

        def build(self, shape):
            self.attention = layers.MultiHeadAttention(HEADS, WIDTH // HEADS)
            self.inner, self.outer = layers.Dense(INNER, "relu"), layers.Dense(WIDTH)
            self.first, self.second = layers.LayerNormalization(), layers.LayerNormalization()
            self.attention.build(shape, shape)
            self.inner.build(shape)
            self.outer.build((*shape[:-1], INNER))
            self.first.build(shape)
            self.second.build(shape)

        def call(self, x):
            x = self.first(x + self.attention(x, x))
            return self.second(x + self.outer(self.inner(x)))

    return KerasBlock()


def torch_call(name, inputs, gradients):
    import torch

    torch.set_num_threads(os.cpu_count())
    layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, LAYERS)
    x = torch.from_numpy(inputs)
    if not gradients:
        model.eval()

        def encode():
            with torch.inference_mode():
                return model(x).numpy()

        return encode
    x.requires_grad_()
    return lambda: torch.autograd.grad((model(x) ** 2).sum(), [x, *model.parameters()])


def resident(field):
    """MiB of this process, from Linux."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", status).group(1)) / 1024


if __name__ == "__main__":
    main()
