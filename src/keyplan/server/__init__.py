"""HTTP servers: the DynamoDB JSON protocol, signatures, an asyncio server and an ASGI application."""
