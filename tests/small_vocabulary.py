"""Some words of two languages and a subword vocabulary learned from them."""

import random

from zoo.text.tokenizer_training import train_tokenizer

ENGLISH, GERMAN = ("the small dog sees a large house and", "der kleine Hund sieht ein großes Haus")
WORDS = f"{ENGLISH} {GERMAN}".split()
_SENTENCES = random.Random(0)
TOKENIZER = train_tokenizer([" ".join(_SENTENCES.choices(WORDS, k=8)) for _ in range(500)], 380)
