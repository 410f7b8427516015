"""Common parts of the systems' APIs: tokens, rate limits, errors, logs, request IDs, health checks and the server."""
