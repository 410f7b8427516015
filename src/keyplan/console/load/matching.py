"""Matches requests with declared patterns by operation, table and index, form of the key, and expressions.

A request from any program is compared with the plans of the design's patterns. If several patterns can produce the
request, the chosen pattern is the one with the most similar condition, filter and changes. If several patterns are
equally similar, the first declared pattern is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from keyplan.dynamodb.expressions.compiled import compile_key_condition, compile_update
from keyplan.errors import KeyplanError

if TYPE_CHECKING:
    from keyplan.design.declaring.design import Design
    from keyplan.design.declaring.patterns import Pattern
    from keyplan.design.keys.entity_keys import BoundKeyAttribute
    from keyplan.design.planning.plan import KeyValue, Plan

Request: TypeAlias = Mapping[str, Any]
Values: TypeAlias = Mapping[str, Any]
"""The attribute values of a key or an item, by attribute name."""

_CACHED: Final = 2000
_INCIDENTAL: Final = 1_000_000
"""An offset that gives reads before a write the lowest precedence.

Some write patterns read an item before they write it. This read is matched with such a pattern only if no pattern that
is declared as a read matches.
"""
_BATCH: Final = "BatchWriteItem"
_TRANSACTION: Final = "TransactWriteItems"
_MEMBERS: Final = {"filter": "FilterExpression", "condition": "ConditionExpression", "update": "UpdateExpression"}
_EXACT: Final = 12
_WORD: Final = re.compile(r"[#:]?\w+|[<>=]+")
_EXISTENCE: Final = re.compile(r"(attribute_(?:not_)?exists)\s*\(\s*(#?\w+)\s*\)")
_TEMPLATE_FIELD: Final = re.compile(r"{[^}]*}")
_ACTIONS: Final = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheck"}


@dataclass(frozen=True, slots=True)
class ItemAccess:
    """An item or item collection that a request reads or writes."""

    operation: str
    table: str
    index: str | None
    values: Values
    """The key attributes in the request or, if the request puts an item, all attributes of the item."""
    request: Request
    """The part of the request that contains the expressions for this item or collection."""
    sort: tuple[tuple[str, str], ...] = ()
    """The operators in the sort key condition of a query, by attribute."""


def accesses_of(operation: str, request: Request, partitions: Mapping[str, Sequence[str]]) -> list[ItemAccess]:
    """Return the items and item collections that a request reads or writes.

    `partitions` contains the names of the partition key attributes by table name, or by "table/index" for an index.
    """
    match operation:
        case "GetItem" | "DeleteItem" | "UpdateItem":
            return [ItemAccess(operation, _table(request), None, request["Key"], request)]
        case "PutItem":
            return [ItemAccess(operation, _table(request), None, request["Item"], request)]
        case "Query":
            return [_query(request, partitions)]
        case "Scan":
            return [ItemAccess(operation, _table(request), request.get("IndexName"), {}, request)]
        case "BatchGetItem":
            return [
                ItemAccess(operation, _name(table), None, key, block)
                for table, block in request["RequestItems"].items()
                for key in block["Keys"]
            ]
        case "BatchWriteItem":
            return [
                ItemAccess(operation, _name(table), None, write.get("Item") or write.get("Key") or {}, write)
                for table, writes in request["RequestItems"].items()
                for entry in writes
                for write in entry.values()
            ]
        case "TransactGetItems" | "TransactWriteItems":
            return [
                ItemAccess(
                    _ACTIONS.get(kind, "GetItem"), _table(action), None, action.get("Item") or action["Key"], action
                )
                for entry in request["TransactItems"]
                for kind, action in entry.items()
            ]
    return []


def _table(request: Request) -> str:
    return _name(str(request["TableName"]))


def _name(name_or_arn: str) -> str:
    return name_or_arn.rpartition("/")[2] if name_or_arn.startswith("arn:") else name_or_arn


def _query(request: Request, partitions: Mapping[str, Sequence[str]]) -> ItemAccess:
    table, index = _table(request), request.get("IndexName")
    text = request.get("KeyConditionExpression")
    if text is None:
        return ItemAccess("Query", table, index, {}, request)
    values = request.get("ExpressionAttributeValues", {})
    terms = compile_key_condition(text, request.get("ExpressionAttributeNames")).terms
    partition = partitions.get(f"{table}/{index}" if index else table, ())
    key_values = {name: values[term.values[0]] for name, term in terms.items() if term.values[0] in values}
    sort = tuple(sorted((name, term.operator) for name, term in terms.items() if name not in partition))
    return ItemAccess("Query", table, index, key_values, request, sort)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """The plan of a pattern that may have produced a request."""

    pattern: Pattern[..., Any]
    plan: Plan
    number: int

    def explains_key(self, values: Values) -> bool:
        """Return True if the plan can produce these key attributes."""
        plan = self.plan
        if plan.key is not None:
            has_exact_values = all(_matches_template(value, values) for value in self._values)
            return has_exact_values and all(
                _matches_template(value, values) for value in self._prefixes if value.attribute in values
            )
        key = plan.entity.key_in(None) if plan.entities else None
        return key is None or all(_attribute_matches(key_attribute, values) for key_attribute in key.attributes)

    @cached_property
    def _values(self) -> tuple[KeyValue, ...]:
        assert self.plan.key is not None
        exact = [condition.low for condition in self.plan.key.sort if condition.op == "="]
        return (*self.plan.key.partition, *exact)

    @cached_property
    def _prefixes(self) -> tuple[KeyValue, ...]:
        """Return the key values in the plan's begins_with conditions.

        A request may use a different prefix that has the same literal start.
        """
        assert self.plan.key is not None
        return tuple(condition.low for condition in self.plan.key.sort if condition.op == "begins_with")

    @cached_property
    def sort(self) -> tuple[tuple[str, str], ...]:
        return (
            tuple(sorted((condition.attribute, condition.op) for condition in self.plan.key.sort))
            if self.plan.key
            else ()
        )

    @cached_property
    def changes(self) -> frozenset[str]:
        """Return the attributes that the plan's update changes."""
        fields = self.plan.entity.fields
        return frozenset(
            fields[action.path.field].attribute for action in self.plan.actions if action.path.field in fields
        )

    @cached_property
    def specificity(self) -> int:
        """Return the number of literal characters in the key. If plans are otherwise equal, the plan with the highest
        number is chosen.
        """
        plan = self.plan
        if plan.key is not None:
            templates = [value.template for value in self._values]
        else:
            key = plan.entity.key_in(None) if plan.entities else None
            templates = [] if key is None else [part.template for part in key.attributes]
        return sum(len(_TEMPLATE_FIELD.sub("", template.text)) for template in templates if template is not None)

    @cached_property
    def _words(self) -> Mapping[str, frozenset[str]]:
        """Return the words in each of the plan's expressions, by the request member that contains the expression."""
        from keyplan.design.requests.build import expressions  # noqa: PLC0415 - servers without a design start faster

        if self.plan.faults:
            return {}
        return {_MEMBERS[kind]: frozenset(_WORD.findall(text)) for kind, text in expressions(self.plan)}

    def score(self, access: ItemAccess) -> int | None:
        """Return how similar a request's expressions are to the expressions of the plan. A higher score is more
        similar.

        Return None if the plan cannot produce the expressions.
        """
        plan, request = self.plan, access.request
        if access.operation == "Query" and access.sort != self.sort:
            if not self.pattern.optional:
                return None
            if not set(dict(access.sort)) <= set(dict(self.sort)):
                return None
        score = 4 if access.sort == self.sort else 0
        if access.operation == "UpdateItem":
            changed_attributes = _changed_attributes(request)
            if self.changes and not changed_attributes & self.changes:
                return None
            score += 8 * len(changed_attributes & self.changes) - 2 * len(self.changes - changed_attributes)
        conditions = request.get("ConditionExpression") is not None
        score += _EXACT * (_existence(request, plan.schema.partition) == plan.exists)
        score += sum(_similarity(words, request.get(member)) for member, words in self._words.items())
        score += 2 * (conditions == (plan.condition is not None or plan.exists != "may" or plan.version is not None))
        score += 2 * (("FilterExpression" in request) == (plan.filter is not None))
        score += (request.get("ScanIndexForward", True) is False) == plan.descending
        score += bool(request.get("ConsistentRead")) == plan.consistent
        score += (request.get("Select") == "COUNT") == (plan.select == "count")
        return score + (("ProjectionExpression" in request) == (plan.view is not None))


def labels(designs: Sequence[Design]) -> dict[Pattern[..., Any], str]:
    """Return a label for each pattern.

    The label is the pattern's name. If several designs use the name, the design's name and a dot are put in front of
    it.
    """
    designs_of: dict[str, set[int]] = {}
    for number, design in enumerate(designs):
        for pattern in design.patterns:
            designs_of.setdefault(pattern.name, set()).add(number)
    return {
        pattern: pattern.name if len(designs_of[pattern.name]) == 1 else f"{design.name}.{pattern.name}"
        for design in designs
        for pattern in design.patterns
    }


class Matcher:
    """Finds the pattern that most likely produced a request, in one or more designs."""

    def __init__(self, designs: Sequence[Design]) -> None:
        self.labels = labels(designs)
        """The label under which each pattern is counted."""
        self._candidates: dict[tuple[str, str, str | None], list[_Candidate]] = {}
        self._transactions: list[tuple[Pattern[..., Any], tuple[_Candidate, ...]]] = []
        self._ranked: dict[tuple[Any, ...], tuple[_Candidate, ...]] = {}
        self.tables: set[str] = set()
        for number, pattern in enumerate(pattern for design in designs for pattern in design.patterns):
            self._add(number, pattern)

    def _add(self, number: int, pattern: Pattern[..., Any]) -> None:
        plan = pattern.plan
        for step_plan in plan.steps or (plan,):
            self.tables.add(step_plan.schema.name)
        if plan.steps:
            steps = tuple(_Candidate(pattern, step, number) for step in plan.steps)
            self._transactions.append((pattern, steps))
            return
        candidate = _Candidate(pattern, plan, number)
        lookup_key = (plan.operation, plan.schema.name, plan.index.name if plan.index else None)
        self._candidates.setdefault(lookup_key, []).append(candidate)
        if plan.hydrated:
            self._candidates.setdefault(("BatchGetItem", plan.schema.name, None), []).append(candidate)
        if plan.reads_first:
            incidental = _Candidate(pattern, plan, number + _INCIDENTAL)
            self._candidates.setdefault(("GetItem", plan.schema.name, None), []).append(incidental)

    def pattern(self, operation: str, items: Sequence[ItemAccess]) -> str | None:
        """Return the label of the pattern that most likely produced a request, or None if no pattern matches.

        If a program combined declared patterns in a transaction, the label lists them: transact(take, give).
        """
        if not items:
            return None
        if operation == _TRANSACTION:
            return self._transaction(items)
        names: dict[str, None] = {}
        for access in items:
            candidate = self._best(access)
            if candidate is None:
                return None
            names[self.labels[candidate.pattern]] = None
        if operation == "TransactGetItems":
            return f"read_together({', '.join(names)})"
        return next(iter(names)) if len(names) == 1 else f"batch({', '.join(names)})"

    def _transaction(self, items: Sequence[ItemAccess]) -> str | None:
        best: tuple[int, str] | None = None
        for pattern, steps in self._transactions:
            scores = [[_step_score(step, access) for access in items] for step in steps]
            required_scores = [
                row for row, repeated in zip(scores, pattern.plan.repeats, strict=True) if repeated is None
            ]
            action_scores = [
                [score for row in scores if (score := row[index]) is not None] for index in range(len(items))
            ]
            if not all(action_scores) or any(all(score is None for score in row) for row in required_scores):
                continue
            score = sum(map(max, action_scores))
            if best is None or score > best[0]:
                best = score, self.labels[pattern]
        if best is not None:
            return best[1]
        candidates = [self._best(access) for access in items]
        names = dict.fromkeys(self.labels[candidate.pattern] for candidate in candidates if candidate is not None)
        unique = [candidate for candidate in candidates if candidate is not None and candidate.plan.keeps_unique]
        if unique:  # the other actions write its sentinels
            return self.labels[unique[0].pattern]
        return f"transact({', '.join(names)})" if all(candidates) else None

    def _best(self, access: ItemAccess) -> _Candidate | None:
        signature = _signature(access)
        ranked = self._ranked.get(signature)
        if ranked is None:
            if len(self._ranked) >= _CACHED:
                self._ranked.clear()
            ranked = self._ranked[signature] = self._rank(access)
        for candidate in ranked:
            if candidate.explains_key(access.values):
                return candidate
        return None

    def _rank(self, access: ItemAccess) -> tuple[_Candidate, ...]:
        candidates = self._candidates.get((access.operation, access.table, access.index), [])
        scored = [(score, candidate) for candidate in candidates if (score := candidate.score(access)) is not None]
        return tuple(candidate for _, candidate in sorted(scored, key=_rank_key))


def _similarity(words: frozenset[str], text: str | None) -> int:
    """Return the share of words that a request's expression and a plan's expression have in common.

    `words` are the words of the plan, and `text` is the expression of the request. The share is scaled from 0 to
    _EXACT.
    """
    request_words = frozenset(_WORD.findall(text or ""))
    return int(_EXACT * len(request_words & words) / (len(request_words | words) or 1))


def _existence(request: Request, key: str) -> str:
    """Return whether a request's condition requires that the item exists ("must") or does not exist ("must_not").

    Return "may" if the condition requires neither. `key` is the name of a key attribute.
    """
    names = request.get("ExpressionAttributeNames") or {}
    for function, name in _EXISTENCE.findall(request.get("ConditionExpression") or ""):
        if names.get(name, name) == key:
            return "must" if function == "attribute_exists" else "must_not"
    return "may"


def _rank_key(scored: tuple[int, _Candidate]) -> tuple[int, int, int]:
    score, candidate = scored
    if candidate.number >= _INCIDENTAL:
        return 0, 0, candidate.number
    return -score, -candidate.specificity, candidate.number


def _step_score(step: _Candidate, access: ItemAccess) -> int | None:
    """Return a score for the similarity of an action to a step of a transaction pattern.

    Return None if the step cannot produce the action.
    """
    is_same_target = (step.plan.operation, step.plan.schema.name) == (access.operation, access.table)
    return step.score(access) if is_same_target and step.explains_key(access.values) else None


_EXPRESSIONS: Final = (
    "FilterExpression",
    "ProjectionExpression",
    "UpdateExpression",
    "ConditionExpression",
    "ScanIndexForward",
    "Select",
    "ConsistentRead",
)


def _signature(access: ItemAccess) -> tuple[Any, ...]:
    names = access.request.get("ExpressionAttributeNames")
    return (
        access.operation,
        access.table,
        access.index,
        access.sort,
        None if names is None else tuple(names.items()),
        *map(access.request.get, _EXPRESSIONS),
    )


def _changed_attributes(request: Request) -> frozenset[str]:
    text = request.get("UpdateExpression")
    if text is None:
        return frozenset(request.get("AttributeUpdates") or ())
    try:
        return compile_update(text, request.get("ExpressionAttributeNames")).attributes
    except KeyplanError:
        return frozenset()


def _matches_template(value: KeyValue, values: Values) -> bool:
    stored_value = values.get(value.attribute)
    if stored_value is None or value.type_code not in stored_value:
        return False
    if value.template is None:
        return True
    text = stored_value["S"]
    if value.part == "whole":
        return value.template.pieces(text) is not None
    return bool(text.startswith(value.template.literal_prefix))


def _attribute_matches(key_attribute: BoundKeyAttribute, values: Values) -> bool:
    stored_value = values.get(key_attribute.attribute)
    if stored_value is None or key_attribute.type_code not in stored_value:
        return False
    return key_attribute.template is None or key_attribute.template.pieces(stored_value["S"]) is not None


def detail_of(access: ItemAccess) -> str:
    """Return the condition, filter and changes of a request as text, with the values in its key."""
    request, parts = access.request, []
    if "KeyConditionExpression" in request:
        parts.append(_with_values(request["KeyConditionExpression"], request))
    elif access.operation not in ("Scan", "PutItem") and access.values:
        parts.append(" and ".join(f"{name} = {_display_text(value)}" for name, value in access.values.items()))
    for member, word in (("FilterExpression", "filter"), ("UpdateExpression", ""), ("ConditionExpression", "if")):
        if member in request:
            parts.append(f"{word} {_with_values(request[member], request)}".strip())
    if "Statement" in request:
        parts.append(str(request["Statement"]))
    return "; ".join(parts)[:400]


def _with_values(text: str, request: Request) -> str:
    names, values = request.get("ExpressionAttributeNames") or {}, request.get("ExpressionAttributeValues") or {}

    def replacement(match: re.Match[str]) -> str:
        word = match[0]
        if word in values:
            return _display_text(values[word])
        return str(names.get(word, word))

    return _PLACEHOLDER.sub(replacement, text)


_PLACEHOLDER: Final = re.compile(r"[#:][A-Za-z0-9_]+")


def _display_text(value: Mapping[str, Any]) -> str:
    for kind, content in value.items():
        text = content.hex() if isinstance(content, bytes) else str(content)
        return f'"{text[:60]}"' if kind == "S" else text[:60]
    return ""


def summaries(items: Sequence[ItemAccess], operation: str) -> Iterator[str]:
    """Yield a description of each item or item collection that a request reads or writes. The descriptions omit values.

    An example is "Query app/open (PK OPEN#…, SK begins_with)". Each distinct description is yielded once.
    """
    yield from dict.fromkeys(_summary(access, operation) for access in items)


def _summary(access: ItemAccess, operation: str) -> str:
    resource = f"{access.table}/{access.index}" if access.index else access.table
    sort_operators = dict(access.sort)
    parts = [
        f"{name} {match[0]}…"
        for name, value in access.values.items()
        if name not in sort_operators
        and access.operation != "PutItem"
        and isinstance(value.get("S"), str)
        and (match := _KEY_START.match(value["S"]))
    ]
    parts += [f"{name} {operator}" for name, operator in access.sort]
    if access.operation == "UpdateItem":
        parts += [f"changes {name}" for name in sorted(_changed_attributes(access.request))[:_CHANGES_NAMED]]
    if "FilterExpression" in access.request:
        parts.append("with filter")
    return f"{operation} {resource}" + (f" ({', '.join(parts)})" if parts else "")


_KEY_START: Final = re.compile(r"[A-Za-z_]{1,30}[#:|/]")
"""A regular expression for the literal text before the first value in a key. It matches the keys of most designs."""
_CHANGES_NAMED: Final = 5
