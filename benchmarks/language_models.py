"""Training of a small language model: tokens a second of ours beside the same model in torch.

    python benchmarks/language_models.py --venvs VENVS

The sizes of nanoGPT's setting for a CPU: 4 blocks, 128 wide, 4 heads, rows of 64 tokens, 12 rows an update, 65 tokens,
no dropout, float32, Adam. `ours` has the same blocks (recipe `nanogpt`), `ours_xla` with training.jit_compile=true;
`llama` has those of the recipe `small`. `torch` is a GPT-2 of `nn.Linear`, `nn.LayerNorm` and
`scaled_dot_product_attention` with AdamW, as nanoGPT has it; `compiled` the same by `torch.compile`, as nanoGPT does by
default. VENVS is a folder of virtual environments as `peers.py` has it: `tf` and `pt`. Systems take turns, each round
in a process of its own; a figure is the median of the rounds.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS, WIDTH, HEADS, VOCABULARY = 4, 128, 4, 65
VENVS = {"ours": "tf", "ours_xla": "tf", "llama": "tf", "torch": "pt", "compiled": "pt"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venvs", type=pathlib.Path, help="folder of the virtual environments")
    parser.add_argument("--systems", nargs="+", default=[*VENVS], choices=[*VENVS])
    parser.add_argument("--rows", type=int, default=12)
    parser.add_argument("--steps", type=int, default=64, help="tokens of a row")
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", choices=[*VENVS], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work = work_ours if VENVS[options.worker] == "tf" else work_torch
        return print(work(options.worker, options.rows, options.steps, options.updates))
    found = {name: [] for name in options.systems}
    for _ in range(options.rounds):
        for name in options.systems:
            python = options.venvs / VENVS[name] / "bin" / "python" if options.venvs else sys.executable
            sizes = [f"--{size}={getattr(options, size)}" for size in ("rows", "steps", "updates")]
            env = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
            run = subprocess.run([python, __file__, "--worker", name, *sizes], capture_output=True, text=True, env=env)
            if run.returncode:
                print(f"{name} failed: {run.stderr[-300:]}", file=sys.stderr)
            else:
                found[name].append(float(run.stdout.splitlines()[-1]))
    fastest = max(statistics.median(found[name] or [0]) for name in found if VENVS[name] == "pt") or float("nan")
    for name, speeds in found.items():
        if speeds:
            middle = statistics.median(speeds)
            print(
                f"{name:10}{middle:10,.0f} tokens/s  [{min(speeds):,.0f}..{max(speeds):,.0f}]  {middle / fastest:.2f}"
            )


def work_ours(name, rows, steps, updates):
    import dataclasses
    import tempfile

    import numpy as np

    from zoo.corpora.labelled_corpus import split_labels
    from zoo.language_modelling.recipes import RECIPES
    from zoo.models.language_model import LanguageModel
    from zoo.training.trainer import Trainer

    recipe = RECIPES["small" if name == "llama" else "nanogpt"]
    positions = {} if name == "llama" else {"max_positions": steps}
    training = dataclasses.replace(recipe.training, jit_compile=name == "ours_xla")
    model = LanguageModel(dataclasses.replace(recipe.model, vocabulary_size=VOCABULARY, **positions))
    model.build()
    generator = np.random.default_rng(0)

    def batches():
        while True:
            ids = generator.integers(1, VOCABULARY, (rows, steps + 1)).astype("int32")
            yield {"token_ids": ids[:, :-1], "labels": ids[:, 1:]}

    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model, training, folder, split=split_labels, pad_label=-1)
        seconds, _ = trainer.measure(batches(), updates)
    return rows * steps / seconds


def work_torch(name, rows, steps, updates):
    import torch
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.inner, self.outer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            batch, length, _ = x.shape
            parts = self.qkv(self.first(x)).split(WIDTH, dim=2)
            heads = (part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for part in parts)
            attended = functional.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).reshape(batch, length, WIDTH))
            return x + self.outer(functional.gelu(self.inner(self.second(x))))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(steps, WIDTH)
            self.blocks, self.norm = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)

        def forward(self, ids, labels):
            x = self.tokens(ids) + self.positions(torch.arange(steps))
            for block in self.blocks:
                x = block(x)
            logits = functional.linear(self.norm(x), self.tokens.weight)
            return functional.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1))

    torch.manual_seed(0)
    model = Gpt()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, betas=(0.9, 0.99))
    run = torch.compile(model) if name == "compiled" else model

    def update():
        ids = torch.randint(1, VOCABULARY, (rows, steps + 1))
        loss = run(ids[:, :-1].contiguous(), ids[:, 1:].contiguous())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    for _ in range(5):
        update()
    start = time.perf_counter()
    for _ in range(updates):
        update()
    return rows * steps * updates / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
