"""Exports of designs: explanations of patterns, documentation, infrastructure templates and IAM policies."""
