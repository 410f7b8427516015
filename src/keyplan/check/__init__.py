"""Checks of designs: rules, findings, reports."""
