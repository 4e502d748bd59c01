"""Training and decoding on one accelerator, as a share of what it can compute, beside torch's `nn.Transformer`.

    python benchmarks/gpu.py --output gpu.json

Runs on the JAX backend unless KERAS_BACKEND names another one, and needs no TensorFlow. Each system and item has a
process of its own; an item that fails, such as one that does not fit into memory, is reported, and the others go on.

T1 is a training step of `base` with 32 pairs of 32 + 32 tokens, `base` and `big` one of the recipe's model with 25,000
source and 25,000 target tokens, in bfloat16 with float32 weights: `fit` over batches of the host, copies included; for
torch an eager step under autocast with fused Adam. Dropout is where `nn.Transformer` has it, on attention weights and
inner activations too. D1 makes 30 tokens for each of 32 sentences of 20 tokens, greedily and with four beams, in
bfloat16; `nn.Transformer` has no cache, and is left out there. Times are the median of `--repeats` measurements after
one that compiles.

FLOPs are multiplications and additions of the matrix products, attention included; a training step counts as three
forward passes. `--peak` is what the device reaches in bfloat16: 790 TFLOP/s is that of an H100 or H200.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent
SMOKE = {"layers": 1, "width": 16, "inner": 32, "heads": 2, "vocabulary": 64, "dropout": 0.1}
BASE = {"layers": 6, "width": 512, "inner": 2048, "heads": 8, "vocabulary": 37_000, "dropout": 0.1}
BIG = {**BASE, "width": 1024, "inner": 4096, "heads": 16, "dropout": 0.3}
SMALL_VOCABULARY = {**BASE, "vocabulary": 8000}
ITEMS = {
    "T1": {"sizes": SMALL_VOCABULARY, "rows": 32, "source": 32, "target": 32},
    "base": {"sizes": BASE, "rows": 390, "source": 64, "target": 64},
    "big": {"sizes": BIG, "rows": 390, "source": 64, "target": 64},
    "D1.greedy": {"sizes": SMALL_VOCABULARY, "rows": 32, "source": 20, "target": 30, "beams": 1},
    "D1.beam4": {"sizes": SMALL_VOCABULARY, "rows": 32, "source": 20, "target": 30, "beams": 4},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", nargs="+", choices=[*ITEMS], default=[*ITEMS])
    parser.add_argument("--systems", nargs="+", choices=[*SYSTEMS], default=[*SYSTEMS])
    parser.add_argument("--repeats", type=int, default=5, help="measurements, of which the median counts")
    parser.add_argument("--steps", type=int, default=20, help="training steps of one measurement")
    parser.add_argument("--peak", type=float, default=790, help="TFLOP/s of the device in bfloat16")
    parser.add_argument("--smoke", action="store_true", help="tiny models, to see that all parts work, on any device")
    parser.add_argument("--output", type=pathlib.Path, help="JSON file to write")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return print(json.dumps(measure(*options.worker.split("/"), options)))
    results = []
    print(f"{'item':<12}{'system':<8}{'ms':>10}{'TFLOP/s':>10}{'of peak':>9}  device", flush=True)
    for name in options.items:
        for system in options.systems:
            if ITEMS[name].get("beams") and system == "torch":
                continue
            command = [sys.executable, *sys.argv, "--worker", f"{name}/{system}"]
            env = {"KERAS_BACKEND": "jax", "XLA_PYTHON_CLIENT_PREALLOCATE": "false", **os.environ}
            done = subprocess.run(command, capture_output=True, text=True, env=env)
            if done.returncode:
                lines = re.findall(r"^[\w.]+(?:Error|Exception)\b.*", done.stderr, re.MULTILINE)
                error = lines[-1] if lines else f"exit status {done.returncode}"
                results.append({"item": name, "system": system, "error": error})
                print(f"{name:<12}{system:<8}failed: {error}", flush=True)
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            results.append(found)
            rate = found["flops"] / found["seconds"] / 1e12
            share = f"{rate:>10.3g}{rate / options.peak:>9.1%}"
            print(f"{name:<12}{system:<8}{1000 * found['seconds']:>10.4g}{share}  {found['device']}", flush=True)
    if options.output:
        options.output.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    if any("error" in result for result in results):
        sys.exit(1)


def measure(name: str, system: str, options: argparse.Namespace) -> dict:
    """Measures one item with one system, in this process."""
    item = dict(ITEMS[name])
    if options.smoke:
        item |= {"sizes": SMOKE, "rows": 2, "source": 4, "target": 5}
    steps = 2 if options.smoke else options.steps
    run, device, version = SYSTEMS[system](item, steps)
    run()
    times = []
    for _ in range(2 if options.smoke else options.repeats):
        start = time.perf_counter()
        calls = run()
        times.append((time.perf_counter() - start) / calls)
    facts = {"item": name, "system": system, "device": device, "version": version}
    return {**facts, "seconds": statistics.median(times), "times": times, "flops": count_flops(item)}


def count_flops(item: dict) -> float:
    """FLOPs of a training step, or of a search with a cache."""
    layers, width, inner = (item["sizes"][name] for name in ("layers", "width", "inner"))
    rows, source, target = (item[name] for name in ("rows", "source", "target"))
    beams = item.get("beams")
    encoder = rows * source * layers * (8 * width**2 + 4 * width * inner + 4 * source * width)
    memory = rows * source * layers * 4 * width**2
    seen = (target + 1) / 2 if beams else target  # Positions that a step of a search attends to; training masks.
    step = layers * (12 * width**2 + 4 * width * inner + 4 * (seen + source) * width)
    decoder = rows * (beams or 1) * target * (step + 2 * width * item["sizes"]["vocabulary"])
    return (1 if beams else 3) * (encoder + memory + decoder)


def random_batch(item: dict) -> tuple:
    """Source ids and target ids, one position longer than the item says, without padding."""
    import numpy as np

    rng, size = np.random.default_rng(1), item["sizes"]["vocabulary"]
    source = rng.integers(4, size, (item["rows"], item["source"]))
    return source.astype("int32"), rng.integers(4, size, (item["rows"], item["target"] + 1)).astype("int32")


def run_ours(item: dict, steps: int) -> tuple[Callable[[], int], str, str]:
    sys.path.insert(0, str(ROOT))
    import keras

    from keras_transformer.training import TokenCrossEntropy
    from zoo.config import ModelConfig
    from zoo.models.seq2seq import Seq2Seq

    keras.utils.set_random_seed(1)
    sizes = item["sizes"]
    config = ModelConfig(
        vocabulary_size=sizes["vocabulary"],
        num_encoder_layers=sizes["layers"],
        num_decoder_layers=sizes["layers"],
        hidden_dim=sizes["width"],
        intermediate_dim=sizes["inner"],
        num_heads=sizes["heads"],
        **dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), sizes["dropout"]),
    )
    model = Seq2Seq(config, dtype="mixed_bfloat16" if "beams" not in item else "bfloat16")
    model.build()
    source, target = random_batch(item)
    device = f"{keras.backend.backend()}, {keras.distribution.list_devices()[0]}"
    if "beams" in item:
        return _search(model, source, item), device, keras.__version__
    model.compile(keras.optimizers.Adam(1e-4, 0.9, 0.98, 1e-9), TokenCrossEntropy(0.1))
    batch = {"source": source, "target": target[:, :-1]}, target[:, 1:]

    def batches():
        while True:
            yield batch

    def fit():
        model.fit(batches(), steps_per_epoch=steps, verbose=0)
        return steps

    return fit, device, keras.__version__


def _search(model, source, item):
    import keras
    import numpy as np

    from keras_transformer.decoding import beam_search, greedy_search
    from zoo.config import PAD_ID, START_ID
    from zoo.models.compiling import compile_function

    beams, length = item["beams"], item["target"]
    limits = np.full(len(source), length, "int32")
    special = {"start_id": START_ID, "end_id": None, "pad_id": PAD_ID}

    def search(ids):
        step, state = model.step_function(beams), model.init_state(ids, beams)
        if beams == 1:
            return greedy_search(step, state, max_lengths=limits, max_length=length, **special).ids
        return beam_search(step, state, beam_size=beams, max_lengths=limits, max_length=length, **special).ids

    call = compile_function(model, search, jit_compile=True)

    def run():
        keras.ops.convert_to_numpy(call(source))
        return 1

    return run


def run_torch(item: dict, steps: int) -> tuple[Callable[[], int], str, str]:
    import torch
    from torch.nn import functional

    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sizes, width = item["sizes"], item["sizes"]["width"]
    layers = {"num_encoder_layers": sizes["layers"], "num_decoder_layers": sizes["layers"]}
    options = {"dim_feedforward": sizes["inner"], "dropout": sizes["dropout"], "batch_first": True}
    body = torch.nn.Transformer(width, sizes["heads"], **layers, **options).to(device)
    table = torch.nn.Embedding(sizes["vocabulary"], width).to(device)
    torch.nn.init.normal_(table.weight, std=width**-0.5)
    parameters = [*body.parameters(), *table.parameters()]
    adam = torch.optim.Adam(parameters, 1e-4, (0.9, 0.98), 1e-9, fused=device.type == "cuda")
    angles = torch.arange(256)[:, None] / 10_000 ** (torch.arange(0, width, 2)[None] / width)
    positions = torch.cat([angles.sin(), angles.cos()], dim=1).to(device)
    source, target = map(torch.from_numpy, random_batch(item))
    mask = torch.nn.Transformer.generate_square_subsequent_mask(item["target"], device=device)

    def embed(ids):
        return functional.dropout(table(ids) * width**0.5 + positions[: ids.shape[1]], sizes["dropout"])

    def train():
        for _ in range(steps):
            ids, given, labels = (x.long().to(device) for x in (source, target[:, :-1], target[:, 1:]))
            with torch.autocast(device.type, torch.bfloat16):
                vectors = body(embed(ids), embed(given), tgt_mask=mask, tgt_is_causal=True)
                logits = functional.linear(vectors, table.weight)
            loss = functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), label_smoothing=0.1)
            adam.zero_grad()
            loss.backward()
            adam.step()
        loss.item()
        return steps

    name = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    return train, name, torch.__version__


SYSTEMS = {"ours": run_ours, "torch": run_torch}

if __name__ == "__main__":
    main()
