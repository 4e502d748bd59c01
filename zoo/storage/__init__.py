"""Arrays on disk, checkpoints and downloads; files are hashed and written atomically."""
