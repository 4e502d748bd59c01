"""Texts to token ids: tokenizers, vocabularies, checks."""
