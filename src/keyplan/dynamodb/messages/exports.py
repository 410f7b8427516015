"""What the service says of exports to files and imports from them.

The texts were seen on the service up to October 2026, as public conformance suites and reports record them,
except those below "Worded here".
"""

from __future__ import annotations

from collections.abc import Sequence

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


def export_not_found(arn: str) -> str:
    """DescribeExport of an export that is not there."""
    return f"Export not found: Export not found: {arn}"


def from_before_table(moment: str) -> str:
    """An incremental export that begins before anything is known of the table."""
    return f"Incremental export period from time cannot be less than the table creation time : {moment}"


def to_in_future(moment: str) -> str:
    """An incremental export that ends in the future."""
    return f"Incremental export period to time cannot be greater than the current time : {moment}"


def token_invalid(token: str) -> str:
    """A NextToken that no listing gave."""
    return f"Invalid Request: Provided nextToken is invalid: {token}"


def options_unwanted(input_format: str) -> str:
    """InputFormatOptions for a format that has none."""
    return f"Invalid Request: Unsupported InputFormatOptions for the given input format: {input_format}."


# Worded here: not recorded anywhere we could find, or about what this engine alone knows.

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
INTERRUPTED = "The work failed by an error of keyplan itself, which its log tells"


def import_not_found(arn: str) -> str:
    """DescribeImport of an import that is not there."""
    return f"Import not found: Import not found: {arn}"


def too_many_jobs(what: str, most: int) -> str:
    """More exports or imports at once than the service takes."""
    return f"Subscriber limit exceeded: Only {most} {what} can run simultaneously"


def too_many_objects(most: int) -> str:
    """An import of more objects than the service takes."""
    return f"There are more than {most} objects under the prefix"


def items_failed(bucket: str, key: str, index: int, faults: Sequence[str]) -> str:
    """The failure of an import of which some items failed, and the first of them."""
    first = f"s3://{bucket}/{key}, item {index}: {'; '.join(faults)}"
    return f"{ITEMS_FAILED} Here that log is the logger keyplan.engine.transfer.imports; the first error: {first}"


def outside_buckets(key: str) -> str:
    """A key that would lead out of the folder of its bucket."""
    return (
        f"Invalid Request: the key '{key}' cannot be a file of a bucket that is a folder: its parts must not be empty, "
        "'.' or '..', and must not lead over links"
    )


def not_json(detail: str) -> str:
    """A line that is no JSON."""
    return f"The line is not JSON: {detail}"


def not_csv(detail: str) -> str:
    """A file that is no CSV."""
    return f"The file is not CSV: {detail}"


def not_compressed(kind: str, detail: str) -> str:
    """A file that is not compressed as was said, or is damaged."""
    return f"The file cannot be read as {kind}: {detail}"


def columns_differ(found: int, expected: int) -> str:
    """A row of a CSV file that has more or fewer values than there are names."""
    return f"The row has {found} values, the header {expected} names"


def object_unreadable(detail: str) -> str:
    """An object that went away, or cannot be read."""
    return f"The object cannot be read: {detail}"


def extra_missing(extra: str) -> str:
    """Buckets in S3 without what speaks to it."""
    return f"buckets in S3 need s3fs: install keyplan[{extra}]"
