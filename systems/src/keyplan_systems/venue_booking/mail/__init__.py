"""E-mails of the venue: what they say, in which language, and how they leave."""
