"""Checks of designs: rules, findings and reports."""
