"""What is written of a design for people to read: plans explained, documentation."""
