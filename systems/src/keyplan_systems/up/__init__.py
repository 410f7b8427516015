"""The implementation of `keyplan up`, which runs all systems in one process."""
