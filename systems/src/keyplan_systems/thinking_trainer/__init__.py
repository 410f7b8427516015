"""Clarity, a trainer for critical thinking, with scenarios, graded attempts and profiles."""
