"""Arrays on disk, checkpoints, downloads: hashed, written whole or not at all."""
