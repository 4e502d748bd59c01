"""Pure functions on tensors: masks, attention, positions, caches."""
