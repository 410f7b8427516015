"""Storage on disk: sorted trees of rows, append-only logs of records, and named JSON documents."""
