"""Weights of other packages in and out."""
