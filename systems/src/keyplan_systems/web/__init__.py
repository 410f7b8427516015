"""What the web doors of all systems share: tokens, rate limits, problems, logs, request ids, health and serving."""
