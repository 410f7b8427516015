"""What is granted as statements: their conditions, their names, what is joined and what is split."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan.export.iam import Account, Grant, Limits, policies, policy, size
from keyplan.export.iam_keys import NOWHERE, Leading

ANYWHERE = Account()
LEADING = "dynamodb:LeadingKeys"
ENCLOSED = Limits(enclosed=True)
COUNTED = Limits(select="COUNT")
WITHIN = {"ForAnyValue:StringEquals": {"dynamodb:EnclosingOperation": ["TransactWriteItems"]}}


def statements(*grants: Grant) -> list[dict[str, Any]]:
    statement: list[dict[str, Any]] = policy(grants, ANYWHERE)["Statement"]
    return statement


def put(*texts: str, limits: Limits = Limits()) -> Grant:  # noqa: B008 - it is frozen
    return Grant("PutItem", "t", leading=Leading(texts), limits=limits)


def like(**texts: list[str]) -> dict[str, Any]:
    named = {f"dynamodb:{name}": listed for name, listed in texts.items()}
    return {"ForAllValues:StringLike": named, "Null": dict.fromkeys(named, "false")}


@pytest.mark.parametrize(
    ("account", "under", "arn"),
    [
        (Account(), "", "arn:aws:dynamodb:*:*:table/t"),
        (Account(), "index/i", "arn:aws:dynamodb:*:*:table/t/index/i"),
        (
            Account("eu-west-1", "1", "aws-cn", "dev-"),
            "stream/*",
            "arn:aws-cn:dynamodb:eu-west-1:1:table/dev-t/stream/*",
        ),
    ],
)
def test_an_arn_names_resources_of_the_table(account: Account, under: str, arn: str) -> None:
    assert account.arn("t", under) == arn
    assert account.arn("", under) == "*"


@pytest.mark.parametrize(
    ("limits", "conditions"),
    [
        (Limits(), {}),
        (ENCLOSED, WITHIN),
        (COUNTED, {"StringEquals": {"dynamodb:Select": "COUNT"}}),
        (
            Limits(select="SPECIFIC_ATTRIBUTES", attributes=("a", "b")),
            {
                "ForAllValues:StringEquals": {"dynamodb:Attributes": ["a", "b"]},
                "StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"},
            },
        ),
    ],
)
def test_limits_of_a_request_become_conditions(limits: Limits, conditions: dict[str, Any]) -> None:
    (bound,) = statements(put("A#*", limits=limits))
    assert bound["Condition"] == {**like(LeadingKeys=["A#*"]), **conditions}
    (free,) = statements(Grant("Scan", "t", limits=limits))
    assert free.get("Condition", {}) == conditions


@pytest.mark.parametrize(
    ("texts", "condition"),
    [
        (("a",), like(LeadingKeys=["a"])),
        (("a", "b"), like(LeadingKeys=["a"], SecondPartitionKeyValues=["b"])),
        (
            ("a", "b", "c", "d"),
            like(
                LeadingKeys=["a"],
                SecondPartitionKeyValues=["b"],
                ThirdPartitionKeyValues=["c"],
                FourthPartitionKeyValues=["d"],
            ),
        ),
        (("*", "b", "*", "d"), like(SecondPartitionKeyValues=["b"], FourthPartitionKeyValues=["d"])),
    ],
)
def test_each_attribute_of_a_partition_key_has_its_condition_key(texts: tuple[str, ...], condition: Any) -> None:
    (statement,) = statements(Grant("Query", "t", "index/i", Leading(texts)))
    assert statement["Condition"] == condition


@pytest.mark.parametrize(
    ("grants", "expected"),
    [
        ([put("A#*"), put("B#*")], [like(LeadingKeys=["A#*", "B#*"])]),
        ([put("A#*"), put("*")], [{}]),
        ([put("A#*"), put("A#*", limits=ENCLOSED)], [like(LeadingKeys=["A#*"])]),
        ([put("*"), put("A#*", limits=ENCLOSED)], [{}]),
        ([put("A#*", limits=ENCLOSED), put("*", limits=ENCLOSED)], [WITHIN]),
        (
            [put("A#*"), put("B#*", limits=ENCLOSED)],
            [like(LeadingKeys=["A#*"]), {**like(LeadingKeys=["A#*", "B#*"]), **WITHIN}],
        ),
        (
            [put("A#*"), put("B#*", limits=COUNTED)],
            [like(LeadingKeys=["A#*"]), {**like(LeadingKeys=["B#*"]), "StringEquals": {"dynamodb:Select": "COUNT"}}],
        ),
    ],
)
def test_partitions_that_are_already_allowed_are_not_repeated(grants: list[Grant], expected: list[Any]) -> None:
    assert [statement.get("Condition", {}) for statement in statements(*grants)] == expected


def test_actions_and_resources_with_equal_conditions_are_merged() -> None:
    grants = [
        Grant(action, "t", under, Leading(("A#*",))) for under in ("index/i", "index/j") for action in ("Query", "Scan")
    ]
    (statement,) = statements(*grants, *grants)
    assert statement["Action"] == ["dynamodb:Query", "dynamodb:Scan"]
    assert statement["Resource"] == [f"arn:aws:dynamodb:*:*:table/t/index/{name}" for name in "ij"]
    assert statement["Sid"] == "TIJQueryScan"


@pytest.mark.parametrize(
    ("grants", "sids"),
    [
        ([Grant("GetItem", "to-do_list")], ["ToDoListGet"]),
        ([Grant("PutItem", "t", limits=ENCLOSED)], ["TPutInTransactions"]),
        ([Grant("GetRecords", "t", "stream/*")], ["TGetRecords"]),
        ([Grant("Query", "t", f"index/i{number}") for number in range(6)], ["TI0I1I2I3Query"]),
        ([Grant("GetItem", f"a{sign}b", leading=Leading((sign,))) for sign in "-_."], ["ABGet", "ABGet2", "ABGet3"]),
    ],
)  # fmt: skip
def test_statements_are_named_by_their_actions_with_unique_names(grants: list[Grant], sids: list[str]) -> None:
    assert [statement["Sid"] for statement in statements(*grants)] == sids


def test_an_oversized_statement_is_a_separate_policy() -> None:
    grants = [Grant("GetItem", f"table-{number}", leading=Leading((f"K{number}#*",))) for number in range(3)]
    assert [len(document["Statement"]) for document in policies(grants, ANYWHERE, max_characters=1)] == [1, 1, 1]


def test_a_policy_may_have_exactly_the_maximum_size() -> None:
    grants = [Grant("GetItem", f"table-{number}", leading=Leading((f"K{number}#*",))) for number in range(3)]
    total = size(policy(grants, ANYWHERE))
    assert [len(document["Statement"]) for document in policies(grants, ANYWHERE, max_characters=total)] == [3]
    assert [len(document["Statement"]) for document in policies(grants, ANYWHERE, max_characters=total - 1)] == [2, 1]


def test_a_grant_without_a_partition_is_open() -> None:
    assert NOWHERE.is_open
    assert Leading(("*", "*")).is_open
    assert not Leading(("*", "a")).is_open
