"""One process for all the systems: `keyplan up`."""
