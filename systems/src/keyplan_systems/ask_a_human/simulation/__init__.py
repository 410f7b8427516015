"""Simulated day of Ask-a-Human: a seeded generator of requests, and an auditor that computes the expected results."""
