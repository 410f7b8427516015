"""Requests of the service, built from a plan and the arguments of a call."""
