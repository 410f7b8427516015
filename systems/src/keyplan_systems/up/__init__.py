"""Process that runs all systems: `keyplan up`."""
