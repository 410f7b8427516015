"""Parts that the APIs of all systems share: tokens, rate limits, errors, logs, request IDs, health and serving."""
