"""Base classes of predictors, and their export as SavedModels."""
