"""Peak memory and time of training steps with and without rematerialisation.

    python benchmarks/rematerialisation.py --layers 12 --steps 512

Each figure comes from a fresh process: an encoder (with `--decoder` an encoder and a decoder of `--layers` blocks each)
is compiled, trained for one batch, then for `--repeats` more that are timed. Peak is the most that was resident of the
whole process (VmHWM), libraries and tracing included; "before" what it held when the model was built.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--steps", type=int, default=512)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--decoder", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=1, help="of both, one after the other")
    parser.add_argument("--worker", choices=["plain", "remat"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options)
    print(f"{'':8}{'before':>8}{'peak':>8} MiB{'step':>9} s", flush=True)
    for _ in range(options.rounds):
        for kind in ("plain", "remat"):
            command = [sys.executable, *sys.argv, "--worker", kind]
            print(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.rstrip(), flush=True)


def work(options):
    import keras
    import numpy as np

    from keras_transformer import Decoder, Encoder

    keras.utils.set_random_seed(0)
    arguments = {
        "num_layers": options.layers,
        "num_heads": options.heads,
        "intermediate_dim": 4 * options.width,
        "dropout": options.dropout,
        "attention_dropout": options.dropout,
        "remat": options.worker == "remat",
    }
    inputs = keras.Input((options.steps, options.width))
    outputs = Encoder(**arguments)(inputs)
    if options.decoder:
        outputs = Decoder(**arguments)(inputs, outputs)
    model = keras.Model(inputs, outputs)
    model.compile("adam", "mse")
    x = np.random.default_rng(0).normal(size=(options.batch, options.steps, options.width)).astype("float32")
    before = resident("VmRSS")
    model.train_on_batch(x, x)
    start = time.perf_counter()
    for _ in range(options.repeats):
        model.train_on_batch(x, x)
    seconds = (time.perf_counter() - start) / options.repeats
    print(f"{options.worker:8}{before:8.0f}{resident('VmHWM'):8.0f}    {seconds:9.2f}")


def resident(field):
    """MiB of this process, from Linux."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", status).group(1)) / 1024


if __name__ == "__main__":
    main()
