"""Sends hostile texts to the predictors, commands and SavedModels of the checkpoints in this repository.

python tests/long/hostile_checks.py --texts 500 --long 1000000
"""

import argparse
import os
import pathlib
import pty
import random
import subprocess
import sys
import tempfile
import unicodedata

import zoo

ROOT = pathlib.Path(__file__).parents[2]
_LONG = 10_000
COMMANDS = {"translation": "translate", "classification": "classify", "labelling": "tag", "parsing": "parse"}
PIECES = [
    *("\x00", "\x07", "\x08", "\t", "\r", "\x0b", "\x1b[31m", "\x1b]0;title\x07", "\x1b[2J", "\x7f", "\x85", "\x9b1m"),
    *("\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u2028", "\u2029", "\xa0", "\u3000", "\ufffd", "\U0010ffff"),
    *("\ud800", "\udfff", "\udc80", "<s>", "</s>", "<pad>", "<unk>", "<0x41>", "[CLS]", "[SEP]", "[MASK]", "[PAD]"),
    *("\u2581", "▁the", "##ing", "(S", ")", "((", "-LRB-", "TOP", "_", "\\", "%s", "{0}", "'", '"', "[bold]", "|||"),
    *("Ａ", "ﬁ", "ß", "İ", "🏳️‍🌈", "漢字", "עברית", "e" + "\u0301" * 40, "𝔘", "0", "the", "dog", "runs", "."),
]


def texts(count: int, longest: int, seed: int = 1) -> list[str]:
    """Returns hostile pieces, random mixtures of them, both normal forms of a text, a long word and a long line."""
    rng = random.Random(seed)
    mixed = ["".join(rng.choices([*PIECES, " "], k=rng.randint(1, 12))) for _ in range(count)]
    accents = "Où était l'élève ? Ångström, naïve, Ἀθῆναι."
    forms = [unicodedata.normalize(form, accents) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    return ["", " ", *PIECES, *mixed, *forms, "x" * longest, "a b " * (longest // 4)]


def check(name: str, count: int, longest: int, log=print) -> None:
    """Raises `AssertionError` if a text gets no prediction, or output controls a terminal."""
    hostile, task = texts(count, longest), name.split("/")[0]
    loaded = zoo.load(name)
    words = task == "labelling"
    method = getattr(loaded, COMMANDS[task])
    answers = method([text.split() for text in hostile] if words else hostile)
    assert len(answers) == len(hostile)
    log(f"{name}: {len(answers):,} answers by the predictor", flush=True)

    lines = [" ".join(text.splitlines()) for text in hostile]
    content = b"".join(line.encode("utf-8", "surrogatepass") + b"\n" for line in lines)  # No UTF-8, in places.
    command = [sys.executable, "-m", f"zoo.{task}", COMMANDS[task], "--checkpoint", name]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    found = subprocess.run(command, input=content, capture_output=True, env=environment, cwd=ROOT)
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout.count(b"\n") == len(lines) and found.stdout.decode("utf-8")
    log(f"{name}: {len(lines):,} lines by the command", flush=True)

    status, shown = on_terminal(command, environment, content[:20_000].rpartition(b"\n")[0] + b"\n")
    assert status == 0
    log(f"{name}: {len(shown):,} bytes on a terminal, none of them controls it", flush=True)

    exported(loaded, hostile, log, name)


def on_terminal(command: list, environment: dict, content: bytes = b"", errors: bool = False) -> tuple[int, bytes]:
    """Runs a command on a terminal; returns exit status and output, which must not control the terminal."""
    ours, its = pty.openpty()
    with tempfile.TemporaryFile() as source:
        source.write(content)
        source.seek(0)
        own = {**environment, "TERM": "dumb"}  # Rich does not steer such a terminal either.
        other = its if errors else subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=source, stdout=its, stderr=other, env=own, cwd=ROOT)
    os.close(its)
    shown = b""
    while True:
        try:
            part = os.read(ours, 2**16)
        except OSError:  # The other end is closed.
            break
        shown += part
    os.close(ours)
    unsafe = [byte for byte in b"\x00\x07\x08\x0b\x0c\x1b\x7f" if byte in shown]
    assert not unsafe, (unsafe, shown)
    return process.wait(), shown


def exported(loaded, hostile, log, name):
    """Checks that the SavedModel predicts each text in a batch, and raises an error for a text over its limit."""
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "served"
        card = loaded.export(path)
        module = tf.saved_model.load(str(path))
        function = module.signatures["serving_default"]
        (argument,) = function.structured_input_signature[1]
        raw, refused = [text.encode("utf-8", "surrogatepass") for text in hostile], 0

        def answer(batch):
            texts = argument == "text"
            given = tf.constant(batch) if texts else tf.ragged.constant([text.split() for text in batch]).to_tensor()
            assert {len(values) for values in function(**{argument: given}).values()} == {len(batch)}

        def size(text):
            return len(text) if argument == "text" else sum(map(len, text.split()))

        over = [text for text in raw if size(text) > card["limits"]["max_bytes"]]
        for text in over:
            try:
                answer([text])
            except tf.errors.InvalidArgumentError:
                refused += 1
        assert refused == len(over)
        raw = [text for text in raw if size(text) <= card["limits"]["max_bytes"]]
        long = [text for text in raw if len(text) >= _LONG]  # One by one: a batch is as wide as its longest sentence.
        for batch in ([text for text in raw if len(text) < _LONG], *([text] for text in long)):
            answer(batch)
        log(f"{name}: {len(raw):,} answers by the SavedModel, {refused} texts over its limit were errors", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--texts", type=int, default=500, help="random mixtures")
    arguments.add_argument("--long", type=int, default=1_000_000, help="characters of the long texts")
    arguments.add_argument("--checkpoints", nargs="*")
    options = arguments.parse_args()
    names = [card["name"] for card in zoo.list() if card["name"].split("/")[0] in COMMANDS]
    for name in options.checkpoints or names:
        check(name, options.texts, options.long)


if __name__ == "__main__":
    main()
