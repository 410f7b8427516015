"""The emails of the venue: composition and delivery."""
