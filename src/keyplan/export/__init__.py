"""Export designs: explained plans, documentation, infrastructure templates, IAM policies."""
