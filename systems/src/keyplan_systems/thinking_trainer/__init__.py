"""Clarity: a trainer for critical thinking, with scenarios, graded attempts and a profile of strengths and gaps."""
