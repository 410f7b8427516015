"""Verifies a design by running its patterns on generated data and checking their results and costs."""

from keyplan.verify.report import VerificationReport
from keyplan.verify.run import verify

__all__ = ["VerificationReport", "verify"]
