"""Conditions and updates as data: said to the engine as text, and worked out by the model itself.

A path is a tuple of names and list positions. A condition is a tuple whose first member says what it is;
an update is a list of clauses, each about another top-level attribute.
"""

from __future__ import annotations

import copy
from typing import Any

from tests.simulation.model_values import Item, Value, canon, digits, order, plus

Path = tuple[str | int, ...]
Condition = tuple[Any, ...]
Clause = tuple[Any, ...]


INVALID = "ValidationException"
MOST_DIGITS = 38
CONDITION_FAILED = "ConditionalCheckFailedException"


class RefusedError(Exception):
    """The model expects an error of one of these codes: which of two faults is seen first is not its business."""

    def __init__(self, *codes: str) -> None:
        super().__init__(*codes)
        self.codes = codes


def invalid() -> RefusedError:
    """Return the error of an invalid request."""
    return RefusedError(INVALID)


class Placeholders:
    """Names and values of one request's expressions."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Value] = {}

    def path(self, path: Path) -> str:
        """Return the text of a path."""
        text = ""
        for part in path:
            if isinstance(part, int):
                text += f"[{part}]"
            else:
                text += ("." if text else "") + self.names.setdefault(part, f"#n{len(self.names)}")
        return text

    def value(self, value: Value) -> str:
        """Return the placeholder of a value."""
        name = f":v{len(self.values)}"
        self.values[name] = value
        return name

    def members(self) -> dict[str, Any]:
        """Return the members of the request."""
        attributes: dict[str, Any] = {}
        if self.names:
            attributes["ExpressionAttributeNames"] = {short: name for name, short in self.names.items()}
        if self.values:
            attributes["ExpressionAttributeValues"] = self.values
        return attributes


# Conditions.


def expression(condition: Condition, placeholders: Placeholders) -> str:
    """Return the condition as an expression."""
    text = condition_text(condition, placeholders)
    return text[1:-1] if condition[0] in ("and", "or") else text


def condition_text(condition: Condition, placeholders: Placeholders) -> str:
    """Return the condition as a part of an expression, in parentheses if it has two sides."""
    kind, *rest = condition
    match kind:
        case "and" | "or" | "not":
            return _logic_text(kind, rest, placeholders)
        case "between":
            return (
                f"{placeholders.path(rest[0])} BETWEEN {placeholders.value(rest[1])} AND {placeholders.value(rest[2])}"
            )
        case "in":
            return f"{placeholders.path(rest[0])} IN ({', '.join(map(placeholders.value, rest[1]))})"
        case "size":
            return f"size({placeholders.path(rest[1])}) {rest[0]} {placeholders.value({'N': str(rest[2])})}"
        case "attribute_exists" | "attribute_not_exists":
            return f"{kind}({placeholders.path(rest[0])})"
        case "begins_with" | "contains":
            return f"{kind}({placeholders.path(rest[0])}, {placeholders.value(rest[1])})"
        case "attribute_type":
            return f"{kind}({placeholders.path(rest[0])}, {placeholders.value({'S': rest[1]})})"
        case _:
            return f"{placeholders.path(rest[0])} {kind} {placeholders.value(rest[1])}"


def _logic_text(kind: str, rest: list[Any], placeholders: Placeholders) -> str:
    inner = [condition_text(condition, placeholders) for condition in rest]
    if kind == "not":
        return f"NOT {inner[0]}" if rest[0][0] in ("and", "or") else f"NOT ({inner[0]})"  # doubled ones are refused
    return f"({inner[0]} {kind.upper()} {inner[1]})"


def holds(condition: Condition, item: Item) -> bool:
    """Whether an item (an empty one where there is none) meets the condition."""
    kind, *rest = condition
    match kind:
        case "and":
            return holds(rest[0], item) and holds(rest[1], item)
        case "or":
            return holds(rest[0], item) or holds(rest[1], item)
        case "not":
            return not holds(rest[0], item)
        case "size":
            match = find(item, rest[1])
            return match is not None and _compare(rest[0], size_of(match), rest[2])
        case "attribute_not_exists":
            return find(item, rest[0]) is None
    match = find(item, rest[0])
    if match is None:
        return bool(kind == "<>")
    return _meets(kind, match, rest[1:])


def _meets(kind: str, value: Value, rest: list[Any]) -> bool:
    match kind:
        case "attribute_exists":
            return True
        case "attribute_type":
            return rest[0] in value
        case "=" | "<>":
            return bool(canon(value) == canon(rest[0])) == (kind == "=")
        case "in":
            return canon(value) in map(canon, rest[0])
        case "between":
            return _ordered(">=", value, rest[0]) and _ordered("<=", value, rest[1])
        case "begins_with":
            ((requested, start),) = rest[0].items()
            return requested in value and value[requested].startswith(start)
        case "contains":
            return _contains(value, rest[0])
        case _:
            return _ordered(kind, value, rest[0])


def _contains(value: Value, operand: Value) -> bool:
    ((kind, content),) = value.items()
    ((wanted_kind, wanted_content),) = operand.items()
    if kind == "L":
        return canon(operand) in map(canon, content)
    if kind in ("SS", "NS", "BS"):
        return wanted_kind == kind[0] and canon(operand) in (canon({kind[0]: member}) for member in content)
    return kind == wanted_kind and kind in ("S", "B") and wanted_content in content


def _ordered(operator: str, left: Value, right: Value) -> bool:
    return left.keys() == right.keys() and next(iter(left)) in "SNB" and _compare(operator, order(left), order(right))


def _compare(operator: str, left: Any, right: Any) -> bool:
    if left is None:
        return False
    verdict = {
        "=": left == right,
        "<>": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }
    return bool(verdict[operator])


def size_of(value: Value) -> int | None:
    """Return the result of `size`, or None if it has none."""
    ((kind, content),) = value.items()
    return None if kind in ("N", "BOOL", "NULL") else len(content)


def find(item: Item, path: Path) -> Value | None:
    """Return the value at a path, or None."""
    actual: Any = {"M": item}
    for part in path:
        if isinstance(part, int):
            inside = actual.get("L", [])
            actual = inside[part] if part < len(inside) else None
        else:
            actual = actual.get("M", {}).get(part)
        if actual is None:
            return None
    value: Value = actual
    return value


# Updates.


def update_text(clauses: list[Clause], placeholders: Placeholders) -> str:
    """Return the clauses as an UpdateExpression."""
    parts: dict[str, list[str]] = {}
    for verb, path, *rest in clauses:
        target = placeholders.path(path)
        match verb:
            case "SET":
                parts.setdefault(verb, []).append(f"{target} = {_operand(rest[0], placeholders)}")
            case "REMOVE":
                parts.setdefault(verb, []).append(target)
            case _:
                parts.setdefault(verb, []).append(f"{target} {placeholders.value(rest[0])}")
    return " ".join(f"{verb} {', '.join(terms)}" for verb, terms in parts.items())


def _operand(operand: tuple[Any, ...], placeholders: Placeholders) -> str:
    kind, *rest = operand
    match kind:
        case "value":
            return placeholders.value(rest[0])
        case "path":
            return placeholders.path(rest[0])
        case "+" | "-":
            return f"{placeholders.path(rest[0])} {kind} {placeholders.value(rest[1])}"
        case _:
            return f"{kind}({placeholders.path(rest[0])}, {placeholders.value(rest[1])})"


def updated(clauses: list[Clause], item: Item, *, exists: bool) -> Item:
    """Return a new item with the clauses applied; operands are read from the old item. Raises RefusedError.

    `exists`: False for an item that has only its key so far; REMOVE then accepts every path.
    """
    new = copy.deepcopy(item)
    for verb, path, *rest in clauses:
        match verb:
            case "SET":
                _set(new, path, copy.deepcopy(_worth(rest[0], item)))
            case "REMOVE":
                if exists:
                    _remove(new, path)
            case "ADD":
                _add(new, path[0], rest[0])
            case "DELETE":
                _delete(new, path[0], rest[0])
    return new


def assigned_kinds(clauses: list[Clause]) -> list[tuple[str, str]]:
    """Top-level attributes with the types that the clauses alone say they get."""
    kinds = []
    for verb, path, *rest in clauses:
        if verb == "REMOVE" or len(path) > 1:
            continue
        if verb != "SET":
            kinds.append((path[0], next(iter(rest[0]))))
        elif rest[0][0] == "value":
            kinds.append((path[0], next(iter(rest[0][1]))))
    return kinds


def _worth(operand: tuple[Any, ...], item: Item) -> Value:
    kind, *rest = operand
    if kind == "value":
        value: Value = rest[0]
        return value
    match = find(item, rest[0])
    if kind == "if_not_exists":
        return rest[1] if match is None else match
    if match is None:
        raise invalid()
    if kind == "path":
        return match
    if kind == "list_append":
        if "L" not in match:
            raise invalid()
        return {"L": match["L"] + rest[1]["L"]}
    if "N" not in match:
        raise invalid()
    return _sum(match, rest[1], 1 if kind == "+" else -1)


def _sum(left: Value, right: Value, sign: int = 1) -> Value:
    total = plus(left["N"], right["N"], sign)
    if digits(total) > MOST_DIGITS:
        raise invalid()
    return {"N": total}


def _parent(item: Item, path: Path) -> Any:
    """Return the map or list that contains the last part of a path. Raises RefusedError."""
    holder = find(item, path[:-1]) if len(path) > 1 else {"M": item}
    expected_type = "L" if isinstance(path[-1], int) else "M"
    if holder is None or expected_type not in holder:
        raise invalid()
    return holder[expected_type]


def _set(item: Item, path: Path, value: Value) -> None:
    parent, last = _parent(item, path), path[-1]
    if isinstance(last, int) and last >= len(parent):
        parent.append(value)
    else:
        parent[last] = value


def _remove(item: Item, path: Path) -> None:
    parent, last = _parent(item, path), path[-1]
    if isinstance(last, int):
        del parent[last : last + 1]
    else:
        parent.pop(last, None)


def _add(item: Item, name: str, value: Value) -> None:
    ((kind, content),) = value.items()
    stored_item = item.get(name)
    if stored_item is None:
        item[name] = value
    elif kind not in stored_item:
        raise invalid()
    elif kind == "N":
        item[name] = _sum(stored_item, value)
    else:
        item[name] = {
            kind: stored_item[kind] + [member for member in content if not _in_set(kind, member, stored_item[kind])]
        }


def _delete(item: Item, name: str, value: Value) -> None:
    ((kind, content),) = value.items()
    stored_item = item.get(name)
    if stored_item is None:
        return
    if kind not in stored_item:
        raise invalid()
    left = [member for member in stored_item[kind] if not _in_set(kind, member, content)]
    if left:
        item[name] = {kind: left}
    else:
        del item[name]


def _in_set(kind: str, member: Any, members: list[Any]) -> bool:
    return canon({kind[0]: member}) in (canon({kind[0]: existing}) for existing in members)
