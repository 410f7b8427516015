"""A simulation of a day of Ask-a-Human: a seeded generator of requests, and an auditor that verifies the results."""
