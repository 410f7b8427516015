"""Messages about the HTTP protocol, signatures, throttling and server errors."""

from __future__ import annotations

from keyplan.dynamodb.messages import Template1, Template2, Template3

HEALTHY = "healthy: {host} "  # the space at the end is the service's
NO_SUCH_PAGE = "<UnknownOperationException/>\n"

INTERNAL = "The request processing has failed because of an unknown error, exception or failure."
UNAVAILABLE = "The service is unavailable. Please try again shortly."

MISSING_TOKEN = "Request is missing Authentication Token"  # noqa: S105 - a sentence
BOTH_SIGNATURES = "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
HOST_NOT_SIGNED = "'Host' must be a 'SignedHeader' in the AWS Authorization."
INVALID_TOKEN = "The security token included in the request is invalid."  # noqa: S105 - a sentence
WRONG_SIGNATURE = (
    "The request signature we calculated does not match the signature you provided. Check your "
    "AWS Secret Access Key and signing method. Consult the service documentation for details."
)


def host_not_local(host: str) -> str:
    """Return the message for a Host header that does not refer to this machine. The message is keyplan's own."""
    return (
        f"The host {host!r} is not accepted: without credentials to check, a server on a loopback address answers only "
        "localhost and loopback addresses, as a protection against DNS rebinding. Use such an address, or start "
        "keyplan serve with --allow-host and the name."
    )


def origin_not_local(origin: str) -> str:
    """Return the message for an Origin header that does not refer to this machine. The message is keyplan's own."""
    return (
        f"The origin {origin!r} is not accepted: without credentials to check, a server on a loopback address answers "
        "only pages of localhost and loopback addresses. Serve the page from there, or start keyplan serve with "
        "--allow-host and the page's host."
    )


storage_failed: Template1 = "The database could not be used: {}".format  # keyplan's own


def header_incomplete(parameters: list[str], dated: bool, authorization: str) -> str:
    """Return the message for an Authorization header with missing parts.

    `parameters` are the names of the missing parts. `dated` is False if the date header is missing too.
    """
    parts = [f"Authorization header requires '{name}' parameter. " for name in parameters]
    if not dated:
        parts.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ")
    return "".join(parts) + f"Authorization={authorization}"


no_equal_sign: Template2 = "'{}' not a valid key=value pair (missing equal-sign) in Authorization header: '{}'.".format


def query_incomplete(parameters: list[str]) -> str:
    """Return the message for a signature in the query string with missing parameters. `parameters` are the names of the
    missing parameters.
    """
    parts = [f"AWS query-string parameters must include '{name}'. " for name in parameters]
    return "".join(parts) + "Re-examine the query-string parameters."


date_malformed: Template1 = (
    "Date must be in ISO-8601 'basic format'. Got '{}'. See http://en.wikipedia.org/wiki/ISO_8601"
).format


def signature_expired(signed: str, earliest: str, now: str, minutes: int) -> str:
    """Return the message for an expired signature. The times are in ISO 8601 basic format.

    `signed` is the time of the signature, and `earliest` is the earliest accepted time: `minutes` before `now`.
    """
    return f"Signature expired: {signed} is now earlier than {earliest} ({now} - {minutes} min.)"


def signature_early(signed: str, latest: str, now: str, minutes: int) -> str:
    """Return the message for a signature whose time is in the future. The times are in ISO 8601 basic format.

    `signed` is the time of the signature, and `latest` is the latest accepted time: `minutes` after `now`.
    """
    return f"Signature not yet current: {signed} is still later than {latest} ({now} + {minutes} min.)"


query_expired: Template3 = "Signature expired: {} + {} seconds is now earlier than {}".format
algorithm_unknown: Template1 = "Unsupported AWS 'algorithm': '{}' (only AWS4-HMAC-SHA256 for now). ".format
credential_malformed: Template1 = (
    "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '{}'"
).format


def scope_wrong(date: str, service: str, term: str, signed: str) -> str | None:
    """Return the message for an invalid credential scope, or None if the scope is valid.

    `date`, `service` and `term` are the parts of the scope, and `signed` is the date and time of the request.
    """
    parts = []
    if service != "dynamodb":
        parts.append("Credential should be scoped to correct service: 'dynamodb'. ")
    if term != "aws4_request":
        parts.append(f"Credential should be scoped with a valid terminator: 'aws4_request', not '{term}'. ")
    if date != signed[:8]:
        parts.append(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from "
            f"HTTP: '{date}' != '{signed[:8]}', from '{signed}'."
        )
    return "".join(parts) or None


# Throttling, conflicts and failures. Source: developer guide, "Error handling with DynamoDB"; API reference,
# ThrottlingReason.
TABLE_PROVISIONED = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)
INDEX_PROVISIONED = (
    "The level of configured provisioned throughput for one or more global secondary indexes of the table was "
    "exceeded. Consider increasing your provisioning level for the under-provisioned global secondary indexes "
    "with the UpdateTable API"
)
TABLE_ON_DEMAND = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table "
    "or index so please try again shortly. If exceptions persist, check if you have a hot key: "
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html."
)
INDEX_ON_DEMAND = (
    "Throughput exceeds the current capacity for one or more global secondary indexes. "
    "DynamoDB is automatically scaling your index so please try again shortly."
)
ON_DEMAND_MAXIMUM = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
CONFLICT = "Transaction is ongoing for the item"
INTERNAL_ERROR = "Internal server error"
