"""Evaluators: who grades the answers to a scenario. A fixed rubric by default, a model on Amazon Bedrock on request."""
