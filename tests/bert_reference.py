r"""What transformers and torch make of sentences, for comparison; needs an environment with both.

    pip install torch transformers
    python tests/bert_reference.py --model FOLDER --lines tests/fixtures/sentences.txt --states 4 \
        --output tests/fixtures/minilm.npz

Writes, for the lines of a text file: token ids, sentence embeddings (mean over tokens, length 1) and, of the first
`--states`, hidden states of the last layer.
"""

import argparse
import pathlib

import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="folder of a Hugging Face model")
    parser.add_argument("--lines", required=True, help="text file, a sentence a line")
    parser.add_argument("--states", type=int, default=100)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    import torch
    import transformers

    lines = pathlib.Path(options.lines).read_text("utf-8").removesuffix("\n").split("\n")
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
    model = transformers.AutoModel.from_pretrained(options.model).eval()
    ids = [tokenizer(line, truncation=False)["input_ids"] for line in lines]
    states, embeddings = [], []
    with torch.no_grad():
        for row in ids:
            found = model(torch.tensor([row])).last_hidden_state[0].numpy()
            mean = found.mean(0)
            states.append(found)
            embeddings.append(mean / np.linalg.norm(mean))
    np.savez_compressed(
        options.output,
        ids=np.concatenate(ids).astype("int32"),
        lengths=np.array([*map(len, ids)], "int32"),
        states=np.concatenate(states[: options.states]),
        embeddings=np.array(embeddings),
    )


if __name__ == "__main__":
    main()
