"""What can be measured: this engine by each of its doors, bare SQLite, moto, the peers and any endpoint."""
