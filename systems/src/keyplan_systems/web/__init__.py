"""Common parts of all system APIs: tokens, rate limits, errors, logs, request IDs, health and serving."""
