"""Five systems built with keyplan: each has a design, domain rules, a service and an API."""

__version__ = "0.1.0"
