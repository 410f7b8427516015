"""Connections that run the declared patterns of a design on the embedded engine, boto3 or aiobotocore."""
