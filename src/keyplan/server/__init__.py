"""HTTP servers for the DynamoDB JSON protocol: an asyncio server and an ASGI application, with signature checks."""
