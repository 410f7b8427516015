"""The process of `keyplan up`, which runs all systems."""
