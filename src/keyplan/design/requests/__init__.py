"""DynamoDB requests, built from a plan and the arguments of a call."""
