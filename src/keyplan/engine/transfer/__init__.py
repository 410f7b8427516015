"""Exports to and imports from S3 or a folder."""
