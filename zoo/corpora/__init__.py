"""Reading and encoding of corpora, and batches of encoded rows."""
