"""A simulated day of Ask-a-Human: a seeded generator of requests, and an auditor of the results."""
