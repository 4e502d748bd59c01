"""Tokenizers, vocabularies, and checks of texts."""
