"""A to-do system: a service with an API and web pages, and a data lake."""
