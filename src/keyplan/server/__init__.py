"""HTTP servers for the DynamoDB JSON protocol: signature checks, an asyncio server and an ASGI application."""
