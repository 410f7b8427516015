"""Members that the requests of exports and imports share."""

from __future__ import annotations

from keyplan.dynamodb.shapes.model import Integer, String

TABLE_ARN = String(min=1, max=1024)
JOB_ARN = String(min=37, max=1024)
CLIENT_TOKEN = String(pattern=r"^[^\$]+$")
BUCKET = String(max=255, pattern=r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$")
BUCKET_OWNER = String(pattern="[0-9]{12}")
PREFIX = String(min=1, max=1024)
PAGE_SIZE = Integer(min=1, max=25)
DEFAULT_PAGE = 10
