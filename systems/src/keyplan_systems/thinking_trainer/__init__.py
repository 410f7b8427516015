"""Clarity, a trainer for critical thinking. Users answer questions about scenarios, and get a grade and a profile."""
