"""Exports of designs: explained plans, documentation, infrastructure templates and IAM policies."""
