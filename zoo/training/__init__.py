"""The trainer and all that a training run keeps: folder, state, optimiser, progress, scores."""
