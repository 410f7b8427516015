"""A simulation of one day of Ask-a-Human. A seeded generator produces the requests, and an auditor verifies the
results.
"""
