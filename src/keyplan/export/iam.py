"""A least-privilege IAM policy of a design: what its patterns and consumers send, and nothing else.

All partitions that an action may name on one table stand in one statement, so that a batch or a transaction over
several of them is allowed whether the service looks at its items one by one or together.

Sources: DynamoDB developer guide, "Using IAM policy conditions for fine-grained access control" (condition keys, with
ForAllValues; a scan has no leading keys) and "Using IAM with DynamoDB transactions" (EnclosingOperation); IAM user
guide, "Single-valued vs. multivalued context keys" (ForAllValues is true where the key is missing: Null says that it
may not be), "IAM JSON policy elements: Sid" (letters and digits), "IAM and AWS STS quotas" (sizes without white space).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from keyplan.export.iam_grants import Grant, Limits
from keyplan.export.iam_keys import ANY

MANAGED_POLICY_CHARACTERS = 6144
_VERSION = "2012-10-17"
"""The version of the language that knows variables."""
_KEYS = (
    "dynamodb:LeadingKeys",
    "dynamodb:SecondPartitionKeyValues",
    "dynamodb:ThirdPartitionKeyValues",
    "dynamodb:FourthPartitionKeyValues",
)
"""The condition key of each attribute of a partition key."""


@dataclass(frozen=True)
class Account:
    """Where the tables are, and what they are called."""

    region: str = "*"
    number: str = "*"
    partition: str = "aws"
    prefix: str = ""

    def arn(self, table: str, under: str) -> str:
        """The ARN of a table, of what is under it, or of everything."""
        if not table:
            return "*"
        name = f"arn:{self.partition}:dynamodb:{self.region}:{self.number}:table/{self.prefix}{table}"
        return f"{name}/{under}" if under else name


Texts = tuple[str, ...]
Place = tuple[str, str]
"""A table, and what is under it."""


@dataclass(frozen=True)
class Statement:
    """What is allowed on some resources."""

    actions: Texts
    places: tuple[Place, ...]
    leading: tuple[Texts, ...]
    """Of each partition that may be named: a text for each attribute of its key; none for any partition."""
    limits: Limits

    def as_json(self, account: Account, sid: str) -> dict[str, Any]:
        """The statement as a policy holds it."""
        made: dict[str, Any] = {
            "Sid": sid,
            "Effect": "Allow",
            "Action": [f"dynamodb:{action}" for action in self.actions],
            "Resource": [account.arn(*place) for place in self.places],
        }
        conditions = self._conditions()
        return {**made, "Condition": conditions} if conditions else made

    def _conditions(self) -> dict[str, Any]:
        like: dict[str, list[str]] = {}
        for name, texts in zip(_KEYS, zip(*self.leading, strict=True), strict=False):
            if ANY not in texts:
                like[name] = list(dict.fromkeys(texts))
        conditions: dict[str, Any] = {}
        if like:
            conditions |= {"ForAllValues:StringLike": like, "Null": dict.fromkeys(like, "false")}
        if self.limits.attributes:
            conditions["ForAllValues:StringEquals"] = {"dynamodb:Attributes": list(self.limits.attributes)}
        if self.limits.select:
            conditions["StringEquals"] = {"dynamodb:Select": self.limits.select}
        if self.limits.enclosed:
            conditions["ForAnyValue:StringEquals"] = {"dynamodb:EnclosingOperation": ["TransactWriteItems"]}
        return conditions

    @property
    def title(self) -> str:
        """What it allows where, in letters and digits."""
        table = self.places[0][0]
        where = [table, *(_last(under) for _, under in self.places if under.startswith("index/"))]
        verbs = [action.removesuffix("Item") for action in self.actions]
        return "".join(map(_camel, (*where[: 1 + _NAMED_INDEXES], *verbs))) + _ENDS[self.limits.enclosed]


_NAMED_INDEXES = 4
_ENDS = {False: "", True: "InTransactions"}


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name))


def policy(grants: Iterable[Grant], account: Account) -> dict[str, Any]:
    """The policy that allows what is granted."""
    return _document(_statements(grants), account)


def policies(grants: Iterable[Grant], account: Account, most: int = MANAGED_POLICY_CHARACTERS) -> list[dict[str, Any]]:
    """The same in as few policies as fit the size, a statement in one of them."""
    found: list[list[Statement]] = [[]]
    for statement in _statements(grants):
        if found[-1] and size(_document([*found[-1], statement], account)) > most:
            found.append([])
        found[-1].append(statement)
    return [_document(statements, account) for statements in found]


def size(document: Any) -> int:
    """How many characters of a policy are counted: all but white space."""
    return len(re.sub(r"\s", "", json.dumps(document, ensure_ascii=False)))


def _document(statements: Sequence[Statement], account: Account) -> dict[str, Any]:
    taken: set[str] = set()
    made = []
    for statement in statements:
        title = statement.title
        sid = next(one for number in count(1) if (one := title if number == 1 else f"{title}{number}") not in taken)
        taken.add(sid)
        made.append(statement.as_json(account, sid))
    return {"Version": _VERSION, "Statement": made}


# Statements: what one action may do at one place, then joined where nothing is allowed by it that was not before.


def _statements(grants: Iterable[Grant]) -> list[Statement]:
    asked: dict[tuple[Place, str], dict[Limits, dict[Texts, None]]] = {}
    for grant in grants:
        by_limits = asked.setdefault(((grant.table, grant.under), grant.action), {})
        by_limits.setdefault(grant.limits, {})[() if grant.leading.is_open else grant.leading.texts] = None
    found = [
        Statement((action,), (place,), leading, limits)
        for (place, action), by_limits in asked.items()
        for limits, leading in _told(by_limits)
    ]
    by_place = _joined(found, lambda one: (one.places, one.leading, one.limits))
    return _joined(by_place, lambda one: (one.actions, one.leading, one.limits))


def _told(by_limits: dict[Limits, dict[Texts, None]]) -> Iterator[tuple[Limits, tuple[Texts, ...]]]:
    """The partitions under each limit, without what is allowed anyway."""
    plain = by_limits.get(Limits(), {})
    for limits, texts in by_limits.items():
        if limits != Limits() and (() in plain or not texts.keys() - plain.keys()):
            continue
        allowed = {**plain, **texts} if limits.enclosed else texts
        for part in _parts(sorted(allowed)):
            yield limits, part


def _parts(texts: Sequence[Texts]) -> Iterator[tuple[Texts, ...]]:
    """What one condition can say: any partition, partitions of one attribute, or one partition of several."""
    if () in texts:
        yield ()
    elif all(len(one) == 1 for one in texts):
        yield tuple(texts)
    else:
        yield from ((one,) for one in texts)


def _joined(statements: Iterable[Statement], same: Any) -> list[Statement]:
    """One statement for all that are alike in what `same` gives: their actions, or their places, together."""
    found: dict[Any, Statement] = {}
    for one in statements:
        alike = same(one)
        other = found.get(alike, one)
        found[alike] = Statement(
            tuple(dict.fromkeys((*other.actions, *one.actions))),
            tuple(dict.fromkeys((*other.places, *one.places))),
            one.leading,
            one.limits,
        )
    return list(found.values())
