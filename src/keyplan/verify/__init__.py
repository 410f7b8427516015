"""Designs verified: patterns run on generated data, and claimed, predicted and measured cost side by side."""

from keyplan.verify.report import Report
from keyplan.verify.verifying import verify

__all__ = ["Report", "verify"]
