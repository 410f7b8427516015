"""Messages about exports and imports.

The messages are those of DynamoDB, recorded by public conformance suites and reports up to October 2026, except those
below the comment "keyplan's own".
"""

from __future__ import annotations

from collections.abc import Sequence

from keyplan.dynamodb.messages import Template1, Template2
from keyplan.dynamodb.messages.items import PARAMETER_INVALID

EXPORT_ARN_INVALID = "Invalid Export ARN"
IMPORT_ARN_INVALID = "Invalid Import ARN"
TABLE_ARN_NEEDED = PARAMETER_INVALID + "tableArn is not a valid ARN"
TABLE_ARN_INVALID = "Invalid Request: Table ARN is invalid."
TABLE_ARN_EMPTY = "Invalid TableArn: Invalid Table ARN"
EXPORT_CONFLICT = "Export conflict: Duplicate request detected with conflicting parameters"
IMPORT_CONFLICT = "Import conflict: Duplicate request detected with conflicting parameters"
FOREIGN_EXPORT_ARN = "Export not found: Invalid export arn"
FOREIGN_IMPORT_ARN = "Import not found: Invalid import arn"

EXPORT_TIME_INVALID = "Export Time is invalid"
EXPORT_TIME_UNKNOWN = "Point in Time Recovery is not available for specified export time"
WINDOW_TOO_SHORT = "Difference between export period from time and export period to time is less than 15 minutes"

INCREMENTAL_TYPE_NEEDED = (
    "Invalid Request: Export Type expected to be Incremental Export when incremental export specification is provided"
)
FULL_WITH_SPECIFICATION = (
    "Invalid Request: When Export Type is Full Export , Incremental Export Specification should not be provided"
)
SPECIFICATION_NEEDED = (
    "Invalid Request: Incremental Export Specification expected when export type is set as Incremental Export"
)
FROM_TIME_NEEDED = "Invalid Request: ExportFromTime must be provided in IncrementalExportSpecification"
KEY_NEEDS_KMS = "Invalid Request: KMS Key Id is not supported for this encryption type"
FILTER_EMPTY = "Invalid Request: Invalid FilterSpecification: The specification can not be empty"

ITEMS_FAILED = (
    "Some of the items failed validation checks and were not imported. "
    "Please check CloudWatch error logs for more details."
)

export_not_found: Template1 = "Export not found: Export not found: {}".format
from_before_table: Template1 = (
    "Incremental export period from time cannot be less than the table creation time : {}"
).format
to_in_future: Template1 = "Incremental export period to time cannot be greater than the current time : {}".format
token_invalid: Template1 = "Invalid Request: Provided nextToken is invalid: {}".format
options_unwanted: Template1 = "Invalid Request: Unsupported InputFormatOptions for the given input format: {}.".format

# keyplan's own: no recorded text of the service exists, or only this engine has the case.
WINDOW_TOO_LONG = "Difference between export period from time and export period to time is greater than 24 hours"
NO_BUCKET = "The specified bucket does not exist"
TABLE_GONE = "The table was deleted, or its point in time recovery turned off, before the export had read it"
TABLE_TAKEN_AWAY = "The table was deleted before the import had ended"
NOT_AN_ITEM = "The line is not a DynamoDB JSON object with an Item"
NOT_UTF8 = "The file is not text in UTF-8"
LINE_TOO_LONG = "The line is longer than any item can be"
NOT_BASE64 = "The value is not base64 text, which binary key attributes are given as"
HEADER_MISSING = "The header has an empty name, or one name twice"
ION = (
    "Invalid Request: keyplan does not support the format ION: use DYNAMODB_JSON, or for imports CSV "
    "(see the differences page)"
)
FILTER_INCREMENTAL = "Invalid Request: FilterSpecification is for exports of the type FULL_EXPORT"
ZSTD = (
    "Invalid Request: compression ZSTD needs Python 3.14, or backports.zstd, which is not installed here: "
    "use GZIP or NONE, or install keyplan[s3]"
)
BUCKETS_NEEDED = (
    "Invalid Request: this database has no buckets: open it with Engine.open(..., buckets=FOLDER) or serve it with "
    "keyplan serve --buckets FOLDER, where s3://BUCKET/KEY is the file FOLDER/BUCKET/KEY; 's3://' as FOLDER is S3"
)
BUCKETS_GONE = "The database was opened without buckets before the work had ended"
INTERRUPTED = "The work failed because of an error in keyplan; see its log"

import_not_found: Template1 = "Import not found: Import not found: {}".format
too_many_jobs: Template2 = "Subscriber limit exceeded: Only {1} {0} can run simultaneously".format
too_many_objects: Template1 = "There are more than {} objects under the prefix".format


def items_failed(bucket: str, key: str, index: int, faults: Sequence[str]) -> str:
    """Return the failure message of an import with invalid items.

    `bucket` and `key` identify the S3 object that contains the first invalid item, `index` is the item's position in
    the object, and `faults` are the errors in the item.
    """
    first = f"s3://{bucket}/{key}, item {index}: {'; '.join(faults)}"
    return f"{ITEMS_FAILED} Here that log is the logger keyplan.engine.transfer.imports; the first error: {first}"


outside_buckets: Template1 = (
    "Invalid Request: the key '{}' cannot be a file of a bucket that is a folder: its parts must not be empty, "
    "'.' or '..', and must not lead over links"
).format
not_json: Template1 = "The line is not JSON: {}".format
not_csv: Template1 = "The file is not CSV: {}".format
not_compressed: Template2 = "The file cannot be read as {}: {}".format
columns_differ: Template2 = "The row has {} values, the header {} names".format
object_unreadable: Template1 = "The object cannot be read: {}".format
extra_missing: Template1 = "buckets in S3 need s3fs: install keyplan[{}]".format
