"""E-mails of the venue: content, language, and delivery."""
