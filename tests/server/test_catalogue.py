"""The tables of operations and errors agree with botocore's model of the service."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan.engine.commands import OPERATIONS, UNSUPPORTED
from keyplan.server import catalogue

KNOWN = OPERATIONS.keys() | UNSUPPORTED.keys()

session = pytest.importorskip("botocore.session")


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    boto_session = session.get_session()
    return {name: boto_session.get_service_model(name) for name in ("dynamodb", "dynamodbstreams")}


# Added in November 2026: an older botocore does not have them.
BULK_WRITES = {"CancelBulkOperation", "DescribeBulkOperation", "ListBulkOperations", "StartBulkPutItems"}


def test_operations_match_botocore(models: dict[str, Any]) -> None:
    """Ignore operations that only a later botocore knows."""
    assert set(models["dynamodb"].operation_names) >= KNOWN - catalogue.STREAM_OPERATIONS - BULK_WRITES
    assert set(models["dynamodbstreams"].operation_names) >= catalogue.STREAM_OPERATIONS


def test_prefixes_match_botocore(models: dict[str, Any]) -> None:
    assert models["dynamodb"].metadata["targetPrefix"] == catalogue.TABLES_PREFIX
    assert models["dynamodbstreams"].metadata["targetPrefix"] == catalogue.STREAMS_PREFIX


def test_operations_with_empty_responses_match_botocore(models: dict[str, Any]) -> None:
    silent = {
        name
        for model in models.values()
        for name in KNOWN.intersection(model.operation_names)
        if model.operation_model(name).output_shape is None
    }
    assert silent == catalogue.SILENT_OPERATIONS


def test_errors_with_a_capitalized_message_match_botocore(models: dict[str, Any]) -> None:
    capital = {
        shape.name
        for model in models.values()
        for name in KNOWN.intersection(model.operation_names)
        for shape in model.operation_model(name).error_shapes
        if "Message" in shape.members
    }
    assert capital == catalogue.CAPITAL_MESSAGE - {
        "SerializationException",
        "AccessDeniedException",
    }


def test_the_groups_are_disjoint_and_known() -> None:
    groups = (catalogue.ITEM_READS, catalogue.ITEM_WRITES, catalogue.STATEMENTS)
    assert sum(map(len, groups)) == len(frozenset().union(*groups))
    assert frozenset().union(*groups) <= OPERATIONS.keys()
