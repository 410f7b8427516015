"""Functions that translate DynamoDB's errors into keyplan's errors, which name the entity, the fields and the false
condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

from keyplan import limits
from keyplan.client.codec import describe_item, key_of, reader_of
from keyplan.client.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    FailedPart,
    KeyValueError,
    NotFoundError,
    Origin,
    RequestRefusedError,
    RunError,
    TableMissingError,
    ThrottledError,
    TokenReusedError,
    UnreadableItemError,
    VersionConflictError,
    WriteConflictError,
)
from keyplan.design.arguments import shorten
from keyplan.design.conditions.conditions import (
    AndCondition,
    BetweenCondition,
    CompareCondition,
    Condition,
    FieldPath,
    FieldSize,
    FunctionCondition,
    InCondition,
    NotCondition,
    OrCondition,
)
from keyplan.design.conditions.evaluation import MISSING, fill, holds, operand_value
from keyplan.design.fields.annotations import UnstorableTypeError, plain_value
from keyplan.design.fields.stored import StoredField, decode_value, is_stored_as_absent, validator
from keyplan.design.keys.encodings import MissingField
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.items import Item
from keyplan.design.requests.writer import Arguments, reader
from keyplan.design.requests.writes import NOW
from keyplan.dynamodb.values.attribute import item_bytes
from keyplan.errors import CONFLICTS, THROTTLED, ServiceError

KEY_VALUE_ERRORS = (ValueError, MissingField, UnstorableTypeError)
"""The exceptions for values that cannot be stored, or cannot be part of a key."""


def key_value_error(plan: Plan, error: Exception) -> KeyValueError:
    """Return the public error for one of the exceptions in KEY_VALUE_ERRORS."""
    return KeyValueError(f"{plan.pattern}: {error}", entity=plan.entity.name)


class FirstAttemptError(Exception):
    """Raised if DynamoDB returns an error for a request that the fast path has sent directly.

    The call is then repeated as a program (a generator that yields requests), which treats the error as the response to
    its first request. `arguments` are the arguments of the attempt, including its time, or None if the request does not
    depend on the time.
    """

    def __init__(self, error: ServiceError, arguments: Arguments | None) -> None:
        super().__init__(str(error))
        self.error, self.arguments = error, arguments


def condition_text(condition: Condition, fields: str = "F.") -> str:
    """Return a condition as Python source. `fields` is the text in front of each field name."""
    return _TEXTS[type(condition)](condition, fields)


_SHOWN_CHOICES = 10


def _operand_text(operand: object, fields: str) -> str:
    if isinstance(operand, FieldSize):
        return f"{_operand_text(operand.path, fields)}.size()"
    if isinstance(operand, FieldPath):
        return f"{fields}{operand.field}" + "".join(f"[{plain_value(part)!r}]" for part in operand.parts[1:])
    return _value_text(operand)


def _value_text(value: object) -> str:
    """Return the repr of a value, shortened if it is long. A timestamp is returned in ISO 8601 format."""
    return value.isoformat() if isinstance(value, (datetime, date)) else shorten(plain_value(value))


def _compare_text(condition: CompareCondition, fields: str) -> str:
    op = {"=": "==", "<>": "!="}.get(condition.op, condition.op)
    return f"{_operand_text(condition.left, fields)} {op} {_operand_text(condition.right, fields)}"


def _between_text(condition: BetweenCondition, fields: str) -> str:
    low, high = _operand_text(condition.low, fields), _operand_text(condition.high, fields)
    return f"{_operand_text(condition.operand, fields)}.between({low}, {high})"


def _in_text(condition: InCondition, fields: str) -> str:
    texts = [_operand_text(choice, fields) for choice in condition.choices[:_SHOWN_CHOICES]]
    choices = ", ".join([*texts, "..."] if len(condition.choices) > _SHOWN_CHOICES else texts)
    return f"{_operand_text(condition.operand, fields)}.is_in({choices})"


def _function_text(condition: FunctionCondition, fields: str) -> str:
    name = {"attribute_exists": "exists", "attribute_not_exists": "missing"}.get(condition.name, condition.name)
    arguments = ", ".join(_operand_text(operand, fields) for operand in condition.operands()[1:])
    return f"{_operand_text(condition.path, fields)}.{name}({arguments})"


def _and_text(condition: AndCondition, fields: str) -> str:
    return " & ".join(_in_parentheses(part, fields) for part in condition.parts)


def _or_text(condition: OrCondition, fields: str) -> str:
    return " | ".join(_in_parentheses(part, fields) for part in condition.parts)


def _not_text(condition: NotCondition, fields: str) -> str:
    return f"~{_in_parentheses(condition.part, fields)}"


def _in_parentheses(part: Condition, fields: str) -> str:
    """Return an operand of a condition as source, in parentheses unless it is a method call or a negation."""
    text = condition_text(part, fields)
    return f"({text})" if isinstance(part, (CompareCondition, AndCondition, OrCondition)) else text


_TEXTS: dict[type, Callable[[Any, str], str]] = {
    CompareCondition: _compare_text,
    BetweenCondition: _between_text,
    InCondition: _in_text,
    FunctionCondition: _function_text,
    AndCondition: _and_text,
    OrCondition: _or_text,
    NotCondition: _not_text,
}


CONDITION = "ConditionalCheckFailedException"

_KINDS: dict[tuple[str, str], Origin] = {
    ("PutItem", "must_not"): "create",
    ("PutItem", "must"): "replace",
    ("UpdateItem", "must"): "update",
}
_LABELS = {"assuming": "assumption", "if_version": "version check"}
"""The names that error messages use for some builder methods. All other builder methods appear under their
Python name.
"""


class _StoredItem(NamedTuple):
    """The stored item in the error response to a write whose condition was false."""

    item: Item | None
    entity: Any
    """The stored item as an entity, or None if it does not exist or cannot be read."""
    values: Mapping[str, Any]
    """The stored value of each field by field name, or None for a field whose attribute is absent."""
    is_expired: bool


def condition_error(plan: Plan, arguments: Arguments, key: Mapping[str, Any], item: Item | None, code: str) -> RunError:
    """Return the error for a write whose condition was false.

    `key` is the key of the item, `item` is the stored item from the error response, and `code` is the error code.
    """
    spec = plan.entity
    key_values = key_of(spec, key)
    details: dict[str, Any] = {"entity": spec.name, "key": key_values, "code": code}
    description, fields = describe_item(spec, key_values), spec.fields
    stored_item = _read_stored(plan, item, arguments[NOW])
    exists = item is not None and not stored_item.is_expired
    origin = _KINDS.get((plan.operation, plan.exists), "check")
    if plan.exists == "must" and not exists:
        part = _existence_part(origin, "item has expired" if stored_item.is_expired else "item does not exist")
        return NotFoundError(f"{description}: {part}", failed=[part], **details)
    if plan.exists == "must_not" and exists:
        parts = [
            _existence_part(origin, "item already exists"),
            *_failed_parts("replace_if", plan.replaceable, arguments, stored_item, fields),
        ]
        return AlreadyExistsError(
            f"{description}: {_joined_parts(parts)}", item=stored_item.entity, failed=parts, **details
        )
    version_parts = list(_failed_version(plan, arguments, stored_item))
    parts = [
        *version_parts,
        *_failed_parts("condition", plan.condition, arguments, stored_item, fields),
        *_failed_assumptions(plan, arguments, stored_item),
    ] or [_unknown_part(plan, arguments, item)]
    entity = stored_item.entity if exists else None
    problem = f"{description}: {_joined_parts(parts)}"
    if version_parts and plan.version is not None:
        expected, stored = int(reader(plan.version)(arguments)), _version_in(plan, item) if exists else None
        return VersionConflictError(problem, expected=expected, found=stored, item=entity, failed=parts, **details)
    return ConditionFailedError(problem, item=entity, failed=parts, **details)


def _joined_parts(parts: Sequence[FailedPart]) -> str:
    return "; ".join(map(str, parts))


def _existence_part(origin: Origin, text: str) -> FailedPart:
    return FailedPart(origin, text, {}, f"{origin} failed: {text}")


def _read_stored(plan: Plan, item: Item | None, now_s: int) -> _StoredItem:
    """Read the stored item in an error response. If the item as a whole is invalid, read each field separately."""
    fields = plan.entity.fields
    if item is None:
        return _StoredItem(None, None, dict.fromkeys(fields), is_expired=False)
    item_reader = reader_of(plan.entity)
    try:
        entity = item_reader.entity(item)
    except UnreadableItemError:
        entity = None
    values: dict[str, Any] = {}
    for name, stored in fields.items():
        if stored.attribute not in item:
            values[name] = None  # even if the field has a default, because the service does not know it
        elif entity is None or name in plan.entity.key_only_fields:
            values[name] = _single_value(stored, item)
        else:
            values[name] = getattr(entity, name)
    return _StoredItem(item, entity, values, is_expired=item_reader.has_expired(item, now_s))


def _single_value(stored: StoredField, item: Item) -> Any:
    try:
        return validator(stored)(stored.decode(item[stored.attribute]))
    except (ValueError, TypeError, ArithmeticError, KeyError):
        return decode_value(item[stored.attribute])


def _failed_parts(
    origin: Origin,
    condition: Condition | None,
    arguments: Arguments,
    stored_item: _StoredItem,
    fields: Mapping[str, StoredField],
) -> Iterator[FailedPart]:
    """Yield the parts of a condition that are false for the stored item.

    `origin` is the builder method that declares the condition, or the kind of pattern that requires it.
    """
    if condition is None:
        return
    filled = fill(condition, arguments)
    for part in filled.parts if isinstance(filled, AndCondition) else (filled,):
        if holds(_in_stored_units(part, fields), stored_item.values) is False:
            yield _failed_part(origin, part, stored_item)


def _in_stored_units(condition: Condition, fields: Mapping[str, StoredField]) -> Condition:
    """Return a condition in which compared timestamps are rounded to the stored precision of their fields, as in the
    request.
    """
    if isinstance(condition, (AndCondition, OrCondition)):
        return type(condition)(tuple(_in_stored_units(part, fields) for part in condition.parts))
    if isinstance(condition, NotCondition):
        return NotCondition(_in_stored_units(condition.part, fields))
    is_equality = isinstance(condition, InCondition) or (
        isinstance(condition, CompareCondition) and condition.op in {"=", "<>"}
    )
    path, *values = condition.operands()
    if not is_equality or not isinstance(path, FieldPath) or len(path.parts) > 1:
        return condition
    stored = fields[path.field]
    if stored.stored is None:
        return condition
    rounded = tuple(
        validator(stored)(stored.decode(stored.encode(value))) if isinstance(value, datetime) else value
        for value in values
    )
    if isinstance(condition, CompareCondition):
        return CompareCondition(condition.op, path, *rounded)
    return InCondition(path, rounded)


def _failed_version(plan: Plan, arguments: Arguments, stored_item: _StoredItem) -> Iterator[FailedPart]:
    if plan.version is None:
        return
    expected = int(reader(plan.version)(arguments))
    if stored_item.item is None or stored_item.is_expired or _version_in(plan, stored_item.item) != expected:
        yield _failed_part("if_version", CompareCondition("=", FieldPath(plan.entity.version), expected), stored_item)


def _version_in(plan: Plan, item: Item | None) -> int:
    """Return the version number in a stored item, or 0 if the item does not exist or has no version."""
    assert plan.entity.version is not None, "only a versioned entity has an expected version"
    attribute = plan.entity.fields[plan.entity.version].attribute
    return int((item or {}).get(attribute, {}).get("N", "0"))


def _failed_assumptions(plan: Plan, arguments: Arguments, stored_item: _StoredItem) -> Iterator[FailedPart]:
    for name, source in plan.assumed.items():
        value, stored = reader(source)(arguments), plan.entity.fields[name]
        content = None if is_stored_as_absent(value) else decode_value(stored.encode(value))
        stored_value = (stored_item.item or {}).get(stored.attribute)
        if content != (None if stored_value is None else decode_value(stored_value)):
            path = FieldPath(name)
            absent = FunctionCondition("attribute_not_exists", path)
            yield _failed_part(
                "assuming", absent if content is None else CompareCondition("=", path, value), stored_item
            )


def _failed_part(origin: Origin, condition: Condition, stored_item: _StoredItem) -> FailedPart:
    text = condition_text(condition, "")
    stored = {} if stored_item.item is None else dict(_compared(condition, stored_item.values))
    if stored_item.item is None:
        detail = "item does not exist"
    else:
        states = [f"{label} {_value_text(value)}" for label, value in stored.items() if value is not None]
        states += [f"no {label}" for label, value in stored.items() if value is None]
        detail = f"{'expired ' * stored_item.is_expired}item has {', '.join(states)}"
    return FailedPart(origin, text, stored, f"{_LABELS.get(origin, origin)} failed: {text} ({detail})")


def _compared(condition: Condition, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the Python source and the stored value of each operand that refers to the item: a field, a nested path, or
    a size.

    The value is None if the stored item does not have the field or nested path.
    """
    for operand in condition.operands():
        if isinstance(operand, Condition):
            yield from _compared(operand, values)
        elif isinstance(operand, (FieldPath, FieldSize)):
            value = operand_value(operand, values)
            yield _operand_text(operand, ""), None if value is MISSING else value


def _unknown_part(plan: Plan, arguments: Arguments, item: Item | None) -> FailedPart:
    """Return the whole condition as one failed part. Used if it is unknown which of its parts are false."""
    origin: Origin = "condition" if plan.condition is not None or not plan.assumed else "assuming"
    text = "the condition" if plan.condition is None else condition_text(fill(plan.condition, arguments), "")
    detail = "the service returned no item" if item is None else "it is unknown which part is false"
    return FailedPart(origin, text, {}, f"{_LABELS.get(origin, origin)} failed: {text} ({detail})")


_REASONS = {"ConditionalCheckFailed": CONDITION, "ValidationError": "ValidationException"}


def step_error(
    plan: Plan, arguments: Arguments, key: Mapping[str, Any], members: Mapping[str, Any], reason: Mapping[str, Any]
) -> RunError:
    """Return the error for one action of a cancelled transaction.

    `members` are the parameters of the action, `key` is the key of its item, and `reason` is its cancellation reason.
    """
    code = str(reason.get("Code"))
    if code == "ConditionalCheckFailed":
        return condition_error(plan, arguments, key, reason.get("Item") or None, _REASONS[code])
    details: dict[str, Any] = {"entity": plan.entity.name, "key": key_of(plan.entity, key), "code": code}
    description = describe_item(plan.entity, details["key"])
    if code in CONFLICTS:
        return WriteConflictError(f"{description}: another transaction or write of the item is in progress", **details)
    if code in THROTTLED:
        problem = f"{description}: the throughput of table {members['TableName']}, or of this partition, is exceeded"
        return ThrottledError(problem, **details)
    size = item_bytes(members["Item"]) if "Item" in members else 0
    if code == "ValidationError" and size > limits.ITEM_BYTES:
        problem = f"{description}: the item has {size:,} bytes, but the limit is {limits.ITEM_BYTES:,}"
    elif code == "ItemCollectionSizeLimitExceeded":
        problem = f"{description}: its item collection reached 10 GB, the maximum in a table with local indexes"
    else:
        problem = f"{description}: {reason.get('Message') or code}"
    return RequestRefusedError(problem, **details)


def step_text(number: int, pattern: str, arguments: Arguments) -> str:
    """Return a description of a step of a transaction, with its number, pattern and arguments."""
    values = ", ".join(f"{name}={shorten(value)}" for name, value in arguments.items() if name.isidentifier())
    return f"step {number + 1} {pattern}({values})"


def steps_text(steps: Sequence[tuple[str, Arguments]], errors: Sequence[RunError | None]) -> str:
    """Return a description of the failed steps of a transaction and their errors, on one line."""
    return "; ".join(f"{step_text(number, *steps[number])}: {error}" for number, error in enumerate(errors) if error)


def with_steps(
    last_error: WriteConflictError | ThrottledError,
    summary: str,
    steps: Sequence[tuple[str, Arguments]],
    errors: Sequence[RunError | None],
) -> RunError:
    """Return a copy of `last_error` with a message that lists the failed steps of the transaction after `summary`.

    `steps` contains the pattern name and the arguments of each step. `errors` contains the error of each step, or None
    for a step that did not fail. If all errors are None, `last_error` itself is returned.
    """
    first = next((error for error in errors if error is not None), None)
    if first is None:
        return last_error
    return type(last_error)(
        f"{summary}: {steps_text(steps, errors)}", entity=first.entity, key=first.key, code=last_error.code
    )


def rejection_error(plan: Plan, table: str, error: ServiceError) -> RunError:
    """Return the error for a request that DynamoDB rejected for a reason other than a false condition."""
    if error.code == "ResourceNotFoundException":
        return TableMissingError(
            f"{plan.pattern}: table {table} or one of its indexes does not exist ({error.message}); create it with"
            " connection.create_tables(...) or with your deployment",
            code=error.code,
        )
    if error.code == "IdempotentParameterMismatchException":
        return TokenReusedError(
            f"{plan.pattern}: the token was used in the last ten minutes for another transaction, or the stored items"
            " have changed; give each transaction its own token",
            code=error.code,
        )
    return RequestRefusedError(
        f"{plan.pattern}: the service refused the request: {error.message}", entity=plan.entity.name, code=error.code
    )
