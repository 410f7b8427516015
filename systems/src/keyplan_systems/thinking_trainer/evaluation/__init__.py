"""Evaluators that grade answers: a fixed rubric by default, or optionally a model on Amazon Bedrock."""
