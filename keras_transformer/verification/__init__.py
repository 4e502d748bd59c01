"""Tests of sequence models: padding, batches, causality, caches, gradients, precision, saving."""

from keras_transformer.verification.report import Finding, Report
from keras_transformer.verification.verify import verify

__all__ = ["Finding", "Report", "verify"]
