"""Designs verified: patterns run on generated data, and claimed, predicted and measured cost side by side."""

from keyplan.verify.report import VerificationReport
from keyplan.verify.run import verify

__all__ = ["VerificationReport", "verify"]
