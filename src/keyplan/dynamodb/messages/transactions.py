"""What the service says of transactions and of batches."""

from __future__ import annotations

from collections.abc import Iterable

DUPLICATE_KEYS = "Provided list of item keys contains duplicates"
SEVERAL_ON_ONE_ITEM = "Transaction request cannot include multiple operations on one item"

# As the API reference describes the error: no record of the service's own text was found.
OTHER_PARAMETERS = (
    "DynamoDB rejected the request because you retried a request with a different payload but with an idempotent token "
    "that was already used."
)


def cancelled(codes: Iterable[str]) -> str:
    """A cancelled transaction: the code of each action's reason, in order."""
    return f"Transaction cancelled, please refer cancellation reasons for specific reasons [{', '.join(codes)}]"


def payload_too_large(size_bytes: int) -> str:
    """A transaction of more than 4 MB; the service says it twice."""
    said = "Transaction payload size cannot exceed 4MB. Payload Size: "
    return f"{said}: {said}{size_bytes}"
