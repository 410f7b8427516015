"""The errors of connections: the tree in the docstring is the one there is, and one class catches them all."""

from __future__ import annotations

import re

from keyplan.client import errors
from keyplan.client.errors import NoAnswerError, RunError
from keyplan.client.requests import is_transient, is_uncertain
from keyplan.client.transports import service_error, snake
from keyplan.errors import KeyplanError, ProvisionedThroughputExceededError, ServiceError


def test_the_error_tree_lists_every_error() -> None:
    lines = re.findall(r"^( +(?:[│ ]*[├└]── )?)(\w+Error)\b", errors.__doc__ or "", re.MULTILINE)
    parents: dict[int, type] = {}
    for indent, name in lines:
        kind = KeyplanError if name == "KeyplanError" else getattr(errors, name)
        depth = len(indent)
        above = [parents[parent] for parent in parents if parent < depth]
        if above:
            assert kind.__mro__[1] is above[-1], name
        parents = {level: parent for level, parent in parents.items() if level < depth} | {depth: kind}
    defined = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, RunError)}
    assert {name for _, name in lines} == defined | {"KeyplanError"}


def test_a_botocore_error_keeps_code_status_and_members() -> None:
    response = {
        "Error": {"Code": "ProvisionedThroughputExceededException", "Message": "slow"},
        "ResponseMetadata": {"HTTPStatusCode": 400},
        "ThrottlingReasons": [{"reason": "TableWriteKeyRangeThroughputExceeded"}],
    }
    error = service_error(response)
    assert type(error) is ProvisionedThroughputExceededError
    assert (error.message, error.members) == ("slow", {"ThrottlingReasons": response["ThrottlingReasons"]})
    other = service_error({"Error": {"Code": "NewException"}, "ResponseMetadata": {"HTTPStatusCode": 503}})
    assert isinstance(other, ServiceError)
    assert (other.code, other.status) == ("NewException", 503)
    assert is_transient(other)
    assert is_uncertain(other)
    assert not is_uncertain(NoAnswerError("refused", sent=False))


def test_operations_have_the_names_of_boto3_methods() -> None:
    assert snake("TransactWriteItems") == "transact_write_items"
    assert snake("DescribeTimeToLive") == "describe_time_to_live"
