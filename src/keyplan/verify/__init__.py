"""Verification of a design, which runs its patterns on generated data and checks results and costs."""

from keyplan.verify.report import VerificationReport
from keyplan.verify.run import verify

__all__ = ["VerificationReport", "verify"]
