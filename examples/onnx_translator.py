"""Translates with ONNX Runtime: a greedy search in NumPy, without this package, TensorFlow and Keras.

    python -m zoo.translation export --checkpoint translation/en-de --format onnx --output onnx-en-de
    pip install numpy onnxruntime sentencepiece
    echo "Where is my hat?" | python examples/onnx_translator.py onnx-en-de

prints "Wo ist mein Hut?". The file needs the exported folder and these three packages only, so it can be copied. Each
line is one sentence. Words in capitals, addresses and codes are kept as `model.json` in the folder describes it; not
done is what only long or odd texts need: the splitting into sentences, and the end of translations that go round in
circles.
"""

import argparse
import json
import pathlib
import re
import sys

import numpy as np
import onnxruntime
import sentencepiece


class Translator:
    """Translates by the model in a folder."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.facts = json.loads((folder / "model.json").read_text("utf-8"))
        if "sentencepiece.model" not in self.facts["tokenizer_files"]:
            raise SystemExit("error: this example reads vocabularies of sentencepiece with its ids only.")
        self.pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
        providers = ["CPUExecutionProvider"]
        self.encode, self.step = (
            onnxruntime.InferenceSession(folder / f"{name}.onnx", providers=providers) for name in ("encode", "step")
        )

    def translate(self, texts):
        """Returns the translation of each text, which is one sentence."""
        found = list(texts)
        numbers = [i for i, text in enumerate(found) if text and not re.fullmatch(self.facts["copied"], text)]
        if not numbers:
            return found
        hidden, kept = zip(*(self.hide(found[i]) for i in numbers))
        for i, ids, texts in zip(numbers, self.search(self.rows(hidden)), kept):
            found[i] = self.put_back(self.restore_capitals(self.pieces.decode(ids).replace("\ufffd", "")), texts)
        return found

    def rows(self, texts):
        """Returns token ids `[texts, tokens]`, each row ended by the end id and padded."""
        special = self.facts["special_ids"]
        rows = [[*self.pieces.encode(self.mark_capitals(text)), special["end"]] for text in texts]
        width = max(map(len, rows))
        return np.array([row + [special["pad"]] * (width - len(row)) for row in rows], "int32")

    def search(self, source):
        """Returns the ids of the most probable next tokens, until the end, for each row of the source."""
        special = self.facts["special_ids"]
        limits = np.count_nonzero(source, axis=1) + self.facts["max_extra_tokens"]
        inputs = self.facts["graphs"]["step"]["inputs"]
        state = named(self.encode, {"source": source})
        for name, tensor in inputs.items():
            if name.startswith("cache"):
                _, heads, _, width = tensor["shape"]
                state[name] = np.zeros((len(source), heads, max(limits), width), "float32")
        tokens, ended, found = np.full(len(source), special["start"], "int32"), np.zeros(len(source), bool), []
        for index in range(max(limits)):
            outputs = named(self.step, {"token_ids": tokens, "index": np.array(index, "int32"), **state})
            state |= {name.removeprefix("new_"): array for name, array in outputs.items() if name != "logits"}
            outputs["logits"][:, [special["pad"], special["start"]]] = -np.inf
            best = outputs["logits"].argmax(1).astype("int32")
            tokens = np.where(ended | (index == limits - 1), special["end"], best).astype("int32")
            ended |= tokens == special["end"]
            found.append(tokens)
            if ended.all():
                break
        rows = np.stack(found, axis=1).tolist()
        return [row[: row.index(special["end"])] for row in rows]

    def hide(self, text):
        """Replaces addresses and codes by placeholders; returns also what they stand for."""
        rules, kept = self.facts["placeholders"], []
        if not rules:
            return text, kept

        def replace(found):
            if len(kept) == rules["most"]:
                return found[0]
            kept.append(found[0])
            return chr(rules["first"] + len(kept) - 1)

        return re.sub(rules["kept"], replace, re.sub(rules["reserved"], rules["lost"], text), flags=re.ASCII), kept

    def put_back(self, text, kept):
        """Inverts `hide`."""
        rules = self.facts["placeholders"]
        if not rules:
            return text
        names = {chr(rules["first"] + number): original for number, original in enumerate(kept)}
        return re.sub(rules["placeholders"], lambda found: names.get(found[0], ""), text)

    def mark_capitals(self, text):
        """Writes words in capitals as small letters between markers."""
        rules = self.facts["case_markup"]
        if not rules:
            return text
        for pattern, replacement in rules["replacements"]:
            text = re.sub(pattern, replacement, text)
        return re.sub(rules["marked"], lambda found: found[0].lower(), text)

    def restore_capitals(self, text):
        """Inverts `mark_capitals`."""
        rules = self.facts["case_markup"]
        if not rules:
            return text

        def capitals(found):
            return re.sub(rules["markers"], "", found[0]).replace(*rules["sharp_s"]).upper()

        return re.sub(rules["encoded"], capitals, text).replace(rules["leftover"], "")


def named(session, inputs):
    """Returns the outputs of a session by name."""
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs)))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", help="folder that `export --format onnx` wrote")
    translator = Translator(arguments.parse_args().folder)
    for line in sys.stdin:
        print(*translator.translate([line.strip()]), flush=True)


if __name__ == "__main__":
    main()
