"""Evaluators of answers to a scenario: a fixed rubric by default, a model on Amazon Bedrock on request."""
