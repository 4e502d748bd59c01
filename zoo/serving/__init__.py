"""What a trained model does for callers: predictors, SavedModels, limits."""
