"""Training runs: trainer, run folder, saved state, optimizer, progress, scores."""
