"""The limits of DynamoDB. Each name contains the unit, and the comment above each group of limits names the source.

Sources, as of November 2026: developer guide, "Quotas in Amazon DynamoDB" (in comments: quotas) and "Constraints" (in
comments: constraints); API reference (in comments: api); and the pages that the comments name. 1 KB is 1024 bytes, and
1 MB is 1024 KB.
"""

from __future__ import annotations

KIB = 1024
MIB = 1024 * 1024
GIB = 1024 * 1024 * 1024

# Items and values (constraints).
ITEM_BYTES = 400 * KIB
PARTITION_KEY_BYTES = 2048
SORT_KEY_BYTES = 1024
NESTING_LEVELS = 32
NUMBER_DIGITS = 38
NUMBER_MAX_EXPONENT = 125  # 9.99...E+125
NUMBER_MIN_EXPONENT = -130  # 1E-130
ATTRIBUTE_NAME_BYTES = 64 * KIB - 1
KEY_ATTRIBUTE_NAME_BYTES = 255

# Expressions (constraints).
EXPRESSION_BYTES = 4 * KIB
EXPRESSION_OPERATORS = 300
EXPRESSION_IN_OPERANDS = 100
EXPRESSION_PLACEHOLDER_BYTES = 255

# Tables and indexes (quotas).
TABLE_NAME_MIN, TABLE_NAME_MAX = 3, 255
GLOBAL_INDEXES = 20
LOCAL_INDEXES = 5
PROJECTED_ATTRIBUTES = 100
KEY_ATTRIBUTES_PER_ROLE = 4  # multi-attribute keys of global indexes
ITEM_COLLECTION_BYTES = 10 * GIB
ACCOUNT_READ_UNITS = 80_000
ACCOUNT_WRITE_UNITS = 80_000
TABLE_READ_UNITS = 40_000
TABLE_WRITE_UNITS = 40_000
ON_DEMAND_READ_UNITS = 12_000  # per second, of a new on-demand table or index (on-demand capacity mode page)
ON_DEMAND_WRITE_UNITS = 4_000
TAGS_PER_RESOURCE = 50
TAG_SET_BYTES = 10_240  # of all tags of a resource (seen on the service, October 2026)
LIST_TABLES_PAGE = 100

# Requests (constraints, api).
REQUEST_BYTES = 16 * MIB
REQUEST_HEAD_BYTES = 16 * KIB  # request line and headers (ScyllaDB's issue 23438, seen on the service)
PAGE_BYTES = 1 * MIB  # evaluated by one Query or Scan
BATCH_GET_KEYS = 100
BATCH_GET_BYTES = 16 * MIB
BATCH_WRITE_ITEMS = 25
BATCH_STATEMENTS = 25
STATEMENT_LENGTH = 8192
STATEMENT_READS = 50
STATEMENT_TOKEN_LENGTH = 32768
TRANSACTION_ACTIONS = 100
TRANSACTION_BYTES = 4 * MIB
TRANSACTION_TOKEN_S = 600  # idempotency of a client request token (transaction-apis)
SCAN_SEGMENTS = 1_000_000

# Capacity (read and write capacity pages).
READ_UNIT_BYTES = 4 * KIB
WRITE_UNIT_BYTES = 1 * KIB
PARTITION_READ_UNITS = 3000  # per second (bp-partition-key-design)
PARTITION_WRITE_UNITS = 1000
PARTITION_BYTES = 10 * GIB
BURST_S = 300
STORAGE_OVERHEAD_BYTES = 100  # per item and index entry, billed, not part of the item's size

# Streams (Streams page).
STREAM_RETENTION_S = 24 * 3600
SHARD_ITERATOR_S = 15 * 60
GET_RECORDS_LIMIT = 1000
GET_RECORDS_BYTES = 1 * MIB
SHARD_LISTING = 100

# Time to live (TTL page).
TTL_PAST_S = 5 * 365 * 24 * 3600

# Exports and imports (quotas; API reference; pages on exports and imports).
EXPORTS_AT_ONCE = 300
IMPORTS_AT_ONCE = 50
IMPORT_OBJECTS = 50_000
JOB_TOKEN_S = 8 * 3600  # idempotency of a client token
JOB_RETENTION_S = 90 * 24 * 3600  # how long exports and imports are listed
INCREMENTAL_EXPORT_MIN_S = 15 * 60
INCREMENTAL_EXPORT_MAX_S = 24 * 3600
INCREMENTAL_EXPORT_BILLED_BYTES = 10_000_000  # the billed minimum

# Backups (developer guide, "Backup and restore for DynamoDB").
BACKUPS_PAGE = 100  # api
RECOVERY_DAYS = 35  # the maximum and the default
SYSTEM_BACKUP_RETENTION_S = 35 * 24 * 3600
