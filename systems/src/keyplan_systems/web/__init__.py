"""Shared infrastructure of the systems' HTTP APIs: tokens, rate limits, errors, logs, request IDs, health checks and
the server.
"""
