"""Connections that run the patterns of a design on the embedded engine, or through boto3 or aiobotocore."""
