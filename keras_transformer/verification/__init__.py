"""Probes that tell whether a sequence model does what everyone takes for granted."""

from keras_transformer.verification.report import Finding, Report
from keras_transformer.verification.verify import verify

__all__ = ["Finding", "Report", "verify"]
