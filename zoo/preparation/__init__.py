"""Preparation of large corpora on Apache Beam: reading, cleaning, encoding, and sharded files for training."""
