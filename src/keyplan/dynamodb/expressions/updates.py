"""Compilation of checked updates into closures that compute the new item. The module also computes the size that
DynamoDB charges for an update, and the types of the assigned values.

Every action reads the item as it was before the update. The new item is a new dict, in which only documents on changed
paths are copied. List indexes refer to the list before the update. After all actions, the gaps of removed elements are
closed, and elements that were set beyond the end are appended in the order of their indexes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from keyplan.dynamodb.expressions.check import actions_of
from keyplan.dynamodb.expressions.names import Names, ResolvedPath
from keyplan.dynamodb.expressions.nodes import (
    Action,
    AddAction,
    Arithmetic,
    Call,
    DeleteAction,
    Operand,
    Path,
    RemoveAction,
    SetAction,
    SetValue,
    Update,
    Value,
    nested_operands,
)
from keyplan.dynamodb.expressions.read import Get, compile_path
from keyplan.dynamodb.messages import expressions as messages
from keyplan.dynamodb.values import attribute, numbers
from keyplan.dynamodb.values.types import AttributeValue, Item, Values, sorted_members
from keyplan.errors import ValidationError

Read: TypeAlias = Callable[[Item, Values], AttributeValue]
Effect: TypeAlias = Callable[[AttributeValue | None, Item, Values], AttributeValue | None]
"""A function that returns the new value at a path, given the current value, the old item and the request's values.

If the function returns None, the path is removed.
"""


@dataclass(slots=True)
class Branch:
    """The change to an attribute, map member or list element: either an effect that computes its new value, or changes
    to values inside it.
    """

    effect: Effect | None = None
    removes: bool = True  # only REMOVE and DELETE below
    members: dict[str, Branch] = field(default_factory=dict)
    elements: dict[int, Branch] = field(default_factory=dict)


def compile_branches(update: Update, names: Names) -> dict[str, Branch]:
    """Compile an update to a dict that maps the name of each changed top-level attribute to its change."""
    root = Branch()
    for action in actions_of(update):
        branch = root
        removes = isinstance(action, RemoveAction | DeleteAction)
        for part in names.resolve(action.path):
            if isinstance(part, int):
                branch = branch.elements.setdefault(part, Branch())
            else:
                branch = branch.members.setdefault(part, Branch())
            branch.removes = branch.removes and removes
        branch.effect = _compile_effect(action, names)
    for branch in root.members.values():
        _sort_elements(branch)
    return root.members


def _sort_elements(branch: Branch) -> None:
    branch.elements = dict(sorted(branch.elements.items()))
    for below in (*branch.members.values(), *branch.elements.values()):
        _sort_elements(below)


def apply_branches(branches: dict[str, Branch], members: Item, item: Item, values: Values, *, exists: bool) -> Item:
    """Apply changes to the attributes of an item or the members of a map inside it, and return the changed content.

    `members` is the current content of the item or map. `item` is the whole item before the update. `exists` is False
    for a new item that has only its key.
    """
    new = dict(members)
    for name, branch in branches.items():
        value = _apply(branch, members.get(name), item, values, exists=exists)
        if value is not None:
            new[name] = value
        else:
            new.pop(name, None)
    return new


def _apply(
    branch: Branch, current: AttributeValue | None, item: Item, values: Values, *, exists: bool
) -> AttributeValue | None:
    if branch.effect is not None:
        return branch.effect(current, item, values)
    if current is None:
        # The service ignores REMOVE a.b on an item that does not exist, and only then.
        if branch.removes and not exists:
            return None
        raise ValidationError(messages.PATH_INVALID)
    if branch.members:
        if "M" not in current:
            raise ValidationError(messages.PATH_INVALID)
        return {"M": apply_branches(branch.members, current["M"], item, values, exists=exists)}
    if "L" not in current:
        raise ValidationError(messages.PATH_INVALID)
    return {"L": _apply_elements(branch, current["L"], item, values, exists=exists)}


def _apply_elements(
    branch: Branch, elements: list[AttributeValue], item: Item, values: Values, *, exists: bool
) -> list[AttributeValue]:
    new: list[AttributeValue | None] = list(elements)
    for index, below in branch.elements.items():
        current = elements[index] if index < len(elements) else None
        value = _apply(below, current, item, values, exists=exists)
        if index < len(elements):
            new[index] = value
        else:
            new.append(value)
    return [value for value in new if value is not None]


def _compile_effect(action: Action, names: Names) -> Effect:
    match action:
        case SetAction():
            read = _compile_value(action.value, names)
            return lambda _current, item, values: read(item, values)
        case RemoveAction():
            return lambda _current, _item, _values: None
        case AddAction():
            name = action.value.name
            return lambda current, _item, values: add(current, values[name], messages.OPERAND_TYPE)
        case DeleteAction():
            name = action.value.name
            return lambda current, _item, values: delete(current, values[name], messages.OPERAND_TYPE)


def add(current: AttributeValue | None, value: AttributeValue, mismatch: str) -> AttributeValue:
    """Add a number to a number, or elements to a set. For the legacy parameter AttributeUpdates, also append elements
    to a list.

    Returns `value` if no current value exists. Raises ValidationError with the message `mismatch` if the types differ.
    """
    if current is None:
        return value
    ((type_code, content),) = value.items()
    existing = current.get(type_code)
    if existing is None:
        raise ValidationError(mismatch)
    if type_code == "N":
        return {"N": numbers.add(existing, content)}
    if type_code == "L":
        return {"L": existing + content}
    present = set(existing)
    return {type_code: sorted_members(type_code, existing + [member for member in content if member not in present])}


def delete(current: AttributeValue | None, value: AttributeValue, mismatch: str) -> AttributeValue | None:
    """Delete elements from a set. Return None if no elements are left.

    Raises ValidationError with the message `mismatch` if the types differ.
    """
    if current is None:
        return None
    ((type_code, content),) = value.items()
    existing = current.get(type_code)
    if existing is None:
        raise ValidationError(mismatch)
    unwanted = set(content)
    remaining = [member for member in existing if member not in unwanted]
    return {type_code: remaining} if remaining else None


def _compile_value(value: SetValue, names: Names) -> Read:
    if isinstance(value, Arithmetic):
        return _compile_arithmetic(value, names)
    return _compile_operand(value, names)


def _compile_arithmetic(node: Arithmetic, names: Names) -> Read:
    left, right = _compile_operand(node.left, names), _compile_operand(node.right, names)
    compute = numbers.add if node.operator == "+" else numbers.subtract

    def arithmetic(item: Item, values: Values) -> AttributeValue:
        first, second = left(item, values), right(item, values)
        if "N" not in first or "N" not in second:
            raise ValidationError(messages.OPERAND_TYPE)
        return {"N": compute(first["N"], second["N"])}

    return arithmetic


def _compile_operand(operand: Operand, names: Names) -> Read:
    match operand:
        case Value():
            name = operand.name
            return lambda _item, values: values[name]
        case Path():
            return _compile_read(operand, names)
        case Call(function="if_not_exists"):
            return _compile_if_not_exists(operand, names)
        case Call():
            return _compile_list_append(operand, names)


def _compile_read(path: Path, names: Names) -> Read:
    get = compile_path(names.resolve(path))

    def read(item: Item, values: Values) -> AttributeValue:
        value = get(item, values)
        if value is None:
            raise ValidationError(messages.ATTRIBUTE_MISSING)
        return value

    return read


def _compile_if_not_exists(call: Operand, names: Names) -> Read:
    """Return a closure that evaluates nested if_not_exists calls.

    The closure returns the value at the first path that exists in the item. If none of the paths exists, it returns the
    value of the last operand.
    """
    gets: list[Get] = []
    while isinstance(call, Call) and call.function == "if_not_exists":
        path, call = call.operands
        assert isinstance(path, Path)
        gets.append(compile_path(names.resolve(path)))
    default = _compile_operand(call, names)

    def if_not_exists(item: Item, values: Values) -> AttributeValue:
        for get in gets:
            value = get(item, values)
            if value is not None:
                return value
        return default(item, values)

    return if_not_exists


def _compile_list_append(call: Call, names: Names) -> Read:
    first, second = (_compile_operand(operand, names) for operand in call.operands)

    def list_append(item: Item, values: Values) -> AttributeValue:
        head, tail = first(item, values), second(item, values)
        if "L" not in head or "L" not in tail:
            raise ValidationError(messages.OPERAND_TYPE)
        return {"L": head["L"] + tail["L"]}

    return list_append


# The size charge. UpdateItem rejects an expression that writes too much, for any item. It adds the sizes of names and
# values in the expression to a charge for each action, function and path. The numbers were measured on the service,
# to the byte, by a public conformance suite (eu-west-2, October 2026). AWS does not document them, and some regions
# have no such limit, and neither do transactions and AttributeUpdates.
_UPDATE = 3
_WRITE = 19  # SET and ADD, without the path and the value
_REMOVAL = 1  # REMOVE and DELETE, without the path; removed values are free
_TARGET_STEP = 4  # each further element of a changed path
_READ = 1
_READ_STEP = 14  # each element of a path that is read; the value there is free
_FUNCTIONS = {"if_not_exists": 39, "list_append": 37}
_ARITHMETIC = {"+": 34, "-": 37}


@dataclass(frozen=True, slots=True)
class Charge:
    """The size that DynamoDB computes for an update expression. DynamoDB rejects an expression whose size exceeds a
    limit.

    The size consists of a fixed number of bytes and, for each use of a value, the size of the value.
    """

    fixed: int = 0
    uses: Counter[str] = field(default_factory=Counter)

    def exceeds(self, limit: int, values: Values) -> bool:
        """Return True if the size that DynamoDB computes for the update expression, with these values, exceeds `limit`
        bytes.
        """
        total = self.fixed
        for name, times in self.uses.items():
            total += times * attribute.value_bytes(values[name])
            if total > limit:
                return True
        return total > limit


def charge_of(actions: list[Action], names: Names) -> Charge:
    """Return the size that DynamoDB computes for the actions of a checked update. See `Charge`."""
    uses: Counter[str] = Counter()
    fixed = _UPDATE + sum(_charge_action(action, names, uses) for action in actions)
    return Charge(fixed, uses)


def _charge_action(action: Action, names: Names, uses: Counter[str]) -> int:
    target = _charge_target(names.resolve(action.path))
    if isinstance(action, SetAction):
        return _WRITE + target + _charge_set_value(action.value, names, uses)
    if isinstance(action, AddAction):
        uses[action.value.name] += 1
        return _WRITE + target
    return _REMOVAL + target


def _charge_target(path: ResolvedPath) -> int:
    return attribute.text_bytes(str(path[0])) + sum(_TARGET_STEP + attribute.text_bytes(str(step)) for step in path[1:])


def _charge_set_value(value: SetValue, names: Names, uses: Counter[str]) -> int:
    if isinstance(value, Arithmetic):
        operands = _charge_operand(value.left, names, uses) + _charge_operand(value.right, names, uses)
        return _ARITHMETIC[value.operator] + operands
    return _charge_operand(value, names, uses)


def _charge_operand(operand: Operand, names: Names, uses: Counter[str]) -> int:
    """Return the number of bytes that an operand and its nested operands add to the size of the update, excluding the
    values that they refer to. Also count each use of a value in `uses`. See `Charge`.
    """
    total = 0
    for node in nested_operands(operand):
        match node:
            case Value(name=name):
                uses[name] += 1
            case Path() as path:
                total += _READ + sum(_READ_STEP + attribute.text_bytes(str(step)) for step in names.resolve(path))
            case Call(function=function):
                total += _FUNCTIONS[function]
    return total


def sources_of(actions: Iterable[Action], names: Names) -> tuple[tuple[str, str], ...]:
    """Return pairs `(name, type)` for the top-level attributes that the actions assign. `type` is the type of the new
    value or, if it depends on a value in the request, the placeholder of that value.

    Attributes whose new type depends on the item are omitted. DynamoDB checks these types before it reads the item,
    because an index key must not change its type.
    """
    sources: list[tuple[str, str]] = []
    for action in actions:
        path = names.resolve(action.path)
        source = _source(action)
        if len(path) == 1 and source is not None:
            sources.append((str(path[0]), source))
    return tuple(sources)


def _source(action: Action) -> str | None:
    match action:
        case SetAction(value=Value(name=name)):
            return name
        case AddAction() | DeleteAction():
            return action.value.name
        case SetAction(value=Arithmetic()):
            return "N"
        case SetAction(value=Call(function="list_append")):
            return "L"
    return None
