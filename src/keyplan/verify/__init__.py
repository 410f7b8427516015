"""Verify a design: run its patterns on generated data, compare claimed, predicted and measured cost and contents."""

from keyplan.verify.report import VerificationReport
from keyplan.verify.run import verify

__all__ = ["VerificationReport", "verify"]
