"""Exports of designs: explanations of plans, documentation, infrastructure templates and IAM policies."""
