"""Five example systems built with keyplan, each with a design, domain rules, a service and an API."""

__version__ = "0.1.0"
