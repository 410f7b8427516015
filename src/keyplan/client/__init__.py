"""Designs put to work: connections that run declared patterns on the engine, boto3 or aiobotocore."""
