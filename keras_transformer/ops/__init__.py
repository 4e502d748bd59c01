"""Functions on tensors: masks, attention, positions, caches, dropout, gradients."""
