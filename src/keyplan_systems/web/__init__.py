"""What the web doors of all systems share: tokens, problems, logs, request ids, health and serving."""
