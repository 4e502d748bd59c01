"""Kills writers, flips bits and truncates files of every format: nothing may be lost, or taken for what it is not.

python tests/long/damage_checks.py --kills 1000 --flips 10000 --truncations 1000
"""

import argparse
import hashlib
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import fsspec
import google_crc32c
import numpy as np
import rich.console
import rich.table

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)]

from zoo.corpora import records  # noqa: E402
from zoo.corpora.prepared_corpus import FACTS, PreparedCorpus, facts_bytes, shard_name  # noqa: E402
from zoo.corpora.token_rows import TokenRows  # noqa: E402
from zoo.preparation.shards import write_file  # noqa: E402
from zoo.storage.arrays import save_arrays  # noqa: E402
from zoo.storage.checkpoints import Checkpoint, read_checkpoint, write_checkpoint  # noqa: E402
from zoo.storage.remote import local_copy  # noqa: E402
from zoo.text.tokenizer_training import train_tokenizer  # noqa: E402
from zoo.training.run_state import load_state, save_state  # noqa: E402

RNG = np.random.default_rng(0)
ARRAYS = {f"layer/{i}": RNG.normal(size=(40, 20 + i)).astype("float32") for i in range(3)}
LARGE = {"weights": RNG.normal(size=(500, 500)).astype("float32")}
TOKENIZER = train_tokenizer(["one two three"] * 9, 270)
CHECKPOINT = Checkpoint({"task": "translation", "name": "some"}, {"width": 20}, ARRAYS, TOKENIZER.model, {"a": 1})


class Format(NamedTuple):
    """A format of files.

    Args:
        name: Name in the table.
        write: Writes it to a folder.
        read: Reads it; returns what can be compared by `repr`.
    """

    name: str
    write: Callable[[pathlib.Path], Any]
    read: Callable[[pathlib.Path], Any]


def write_corpus(folder):
    """Writes a prepared corpus of two shards."""
    folder.mkdir()
    shards = []
    for number in range(2):
        rows = {name: TokenRows.of([RNG.integers(4, 270, 9) for _ in range(20)]) for name in ("source", "target")}
        contents = records.encode_examples(rows)
        file = b"".join(records.frame(content, google_crc32c.value) for content in contents)
        index = records.make_index(contents, {name: side.lengths for name, side in rows.items()}, file)
        name = shard_name(number, 2)
        write_file(str(folder / f"{name}.tfrecord"), file)
        write_file(str(folder / f"{name}.index"), index)
        shards.append({"name": name, "examples": 20, "index_sha256": hashlib.sha256(index).hexdigest()})
    TOKENIZER.save(folder / "vocabulary.model")
    facts = {"names": ["source", "target"], "tokenizer": TOKENIZER.digest, "shards": shards}
    write_file(str(folder / FACTS), facts_bytes(facts))


def read_corpus(folder):
    corpus = PreparedCorpus.open(folder)
    return [[rows.ids.tolist(), rows.offsets.tolist()] for rows in corpus.token_rows(np.arange(len(corpus)))]


def read_weights(folder):
    found = read_checkpoint(folder)
    arrays = {name: array.tobytes() for name, array in sorted(found.arrays.items())}
    return arrays, found.config, found.settings, found.vocabulary


def write_states(folder):
    folder.mkdir()
    for step in (10, 20):
        save_state(folder, step, ARRAYS, {"step": step})


def read_states(folder):
    """Of either state, the arrays; an older one is no loss."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load_state(folder)
    assert found[2]["step"] in (10, 20)
    return {name: array.tobytes() for name, array in sorted(found[1].items())}


FORMATS = [
    Format("checkpoint", lambda folder: write_checkpoint(folder, CHECKPOINT), read_weights),
    Format("checkpoint, 8 bits", lambda folder: write_checkpoint(folder, CHECKPOINT, "int8"), read_weights),
    Format("checkpoint, float16", lambda folder: write_checkpoint(folder, CHECKPOINT, "float16"), read_weights),
    Format("states of a run", write_states, read_states),
    Format("prepared corpus", write_corpus, read_corpus),
]


def damage(made: Format, count: int, change: Callable[[bytes, random.Random], bytes], seed: int) -> Counter:
    """Changes a file of a format `count` times; counts what was refused, intact, and lost."""
    generator, outcomes = random.Random(seed), Counter()
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder) / "made"
        made.write(place)
        expected = repr(made.read(place))
        files = sorted(path for path in place.rglob("*") if path.is_file())
        sizes = [path.stat().st_size for path in files]
        for _ in range(count):
            # Half of the damages in any file, half in proportion to the sizes.
            path = generator.choice(files) if generator.random() < 0.5 else generator.choices(files, sizes)[0]
            content = path.read_bytes()
            path.write_bytes(change(content, generator))
            try:
                outcomes["intact" if repr(made.read(place)) == expected else "LOST"] += 1
            except (ValueError, OSError):
                outcomes["refused"] += 1
            except Exception as error:
                outcomes[f"LOST: {type(error).__name__}"] += 1
            path.write_bytes(content)
    return outcomes


def flip(content, generator):
    place = generator.randrange(len(content))
    return content[:place] + bytes([content[place] ^ (1 << generator.randrange(8))]) + content[place + 1 :]


def truncate(content, generator):
    return content[: generator.randrange(len(content))]


def write_forever(kind: str, folder: pathlib.Path) -> None:
    """Writes one thing after the other, until it is killed."""
    number = 0
    while True:
        number += 1
        if kind == "checkpoint":
            write_checkpoint(folder / f"checkpoint-{number}", Checkpoint({"task": "some"}, {}, LARGE, None))
        elif kind == "state of a run":
            save_state(folder, number, LARGE, {"step": number})
        elif kind == "weights":
            save_arrays(folder / "weights", LARGE, {"number": number})
        elif kind == "shard":
            write_file(str(folder / "shard"), bytes([number % 256]) * 1_000_000)
        else:
            os.environ["KERAS_TRANSFORMER_CACHE"] = str(folder)
            for name, content in COPIES.items():
                digest = hashlib.sha256(content).hexdigest()
                (folder / "files" / digest).unlink(missing_ok=True)
                local_copy(f"memory://bucket/{name}", digest)


def check_written(kind: str, folder: pathlib.Path) -> None:
    """Raises an error if something is there in part, or what was there before is lost."""
    if kind == "checkpoint":
        for path in folder.glob("checkpoint-*"):
            if path.suffix != ".part":
                assert read_checkpoint(path).arrays["weights"].tobytes() == LARGE["weights"].tobytes()
                shutil.rmtree(path)
    elif kind == "state of a run":
        found = load_state(folder)
        assert found is None or found[1]["weights"].tobytes() == LARGE["weights"].tobytes()
    elif kind == "weights" and (folder / "weights").exists():
        from zoo.storage.arrays import load_arrays

        load_arrays(folder / "weights")
    elif kind == "shard" and (folder / "shard").exists():
        content = (folder / "shard").read_bytes()
        assert len(content) == 1_000_000 and len({*content}) == 1
    elif kind == "copy of a remote file":
        for path in (folder / "files").glob("*"):
            if not path.suffix:
                assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    for part in folder.rglob("*.part"):
        shutil.rmtree(part) if part.is_dir() else part.unlink()


KINDS = "checkpoint", "state of a run", "weights", "shard", "copy of a remote file"
COPIES = {f"file-{i}": RNG.bytes(300_000) for i in range(3)}


def kill(kind: str, count: int, seed: int) -> Counter:
    """Kills a writer `count` times; counts kills, those while a file was written, and losses."""
    generator, outcomes = random.Random(seed), Counter()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for _ in range(count):
            child = os.fork()
            if child == 0:
                try:
                    write_forever(kind, folder)
                finally:
                    os._exit(1)
            time.sleep(0.01 + 0.06 * generator.random())
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            assert os.WTERMSIG(status) == signal.SIGKILL, f"the writer of a {kind} ended by itself"
            outcomes["while a file was written"] += bool([*folder.rglob("*.part")])
            try:
                check_written(kind, folder)
                outcomes["intact"] += 1
            except Exception as error:
                outcomes[f"LOST: {error}"] += 1
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--flips", type=int, default=10_000)
    parser.add_argument("--truncations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    system = fsspec.filesystem("memory")
    for name, content in COPIES.items():
        system.pipe(f"/bucket/{name}", content)
    columns = [rich.table.Column(name, justify="right") for name in ("tried", "refused", "intact", "lost")]
    table = rich.table.Table("damage", *columns)
    runs = [(f"{made.name}: bit flipped", damage, made, options.flips, flip) for made in FORMATS]
    runs += [(f"{made.name}: truncated", damage, made, options.truncations, truncate) for made in FORMATS]
    runs += [(f"{kind}: writer killed", kill, kind, options.kills) for kind in KINDS]
    losses = 0
    for name, check, what, total, *others in runs:
        count = -(-total // (len(FORMATS) if check is damage else len(KINDS)))
        outcomes = check(what, count, *others, options.seed)
        lost = {text: number for text, number in outcomes.items() if text.startswith("LOST")}
        losses += sum(lost.values())
        if check is kill:
            name = f"{name}, {outcomes['while a file was written']} times while it wrote"
        table.add_row(name, f"{count:,}", f"{outcomes['refused']:,}", f"{outcomes['intact']:,}", f"{lost or 0}")
        print(f"{name}: {dict(outcomes)}", flush=True)
    rich.console.Console(width=110).print(table)
    return int(losses > 0)


if __name__ == "__main__":
    sys.exit(main())
