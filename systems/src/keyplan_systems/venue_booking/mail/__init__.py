"""The emails of the venue: content, language and delivery."""
