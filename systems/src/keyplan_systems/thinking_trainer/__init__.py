"""Clarity: trainer for critical thinking, with scenarios, graded attempts and profiles of strengths and weaknesses."""
