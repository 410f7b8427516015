"""Exports to S3 or a folder, and imports from S3 or a folder."""
