"""Translation of the conditions and updates in PartiQL statements to expressions.

Names and values become placeholders, so that an attribute can have any name. DynamoDB's messages about an expression
contain the name of the request parameter, but its messages about a statement do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from keyplan import limits
from keyplan.dynamodb.expressions import compiled, nodes
from keyplan.dynamodb.expressions.nodes import render_condition, render_update
from keyplan.dynamodb.expressions.tokens import CONDITION_FUNCTIONS
from keyplan.dynamodb.messages import expressions as expression_messages
from keyplan.dynamodb.messages import partiql as messages
from keyplan.dynamodb.partiql.nodes import (
    COMPARISONS,
    Assignment,
    BetweenTerm,
    CallTerm,
    Constant,
    Infix,
    InTerm,
    IsTerm,
    JoinedTerm,
    NotTerm,
    PathTerm,
    Removal,
    Term,
    attributes,
    choices_of,
    is_test,
)
from keyplan.dynamodb.partiql.terms import MOST_LEVELS
from keyplan.dynamodb.partiql.values import StatementValues
from keyplan.dynamodb.values.types import Item
from keyplan.errors import ValidationError

_NEED_PATHS = ("attribute_exists", "attribute_not_exists")
_TYPES = {
    "blob": "B",
    "bool": "BOOL",
    "boolean": "BOOL",
    "list": "L",
    "null": "NULL",
    "numeric": "N",
    "string": "S",
    "struct": "M",
    "tuple": "M",
}
_SET_FUNCTIONS = ("set_add", "set_delete")


@dataclass(frozen=True, slots=True)
class StatementCondition:
    """A compiled condition, the values of its placeholders, and the attributes that occur in the condition,
    in order.
    """

    compiled: compiled.CompiledCondition
    values: Item
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatementUpdate:
    """A compiled update, with the values of its placeholders."""

    compiled: compiled.CompiledUpdate
    values: Item


@dataclass(slots=True)
class _Placeholders:
    """The placeholders for names and values that are used when a statement is translated to an expression."""

    parameters: StatementValues
    names: dict[str, str] = field(default_factory=dict)
    values: Item = field(default_factory=dict)
    level: int = 0
    """The current nesting depth of conditions that are operands of comparisons."""
    _by_name: dict[str, str] = field(default_factory=dict)

    def path(self, parts: tuple[str | int, ...]) -> nodes.Path:
        """Return a path in which placeholders replace the names."""
        return nodes.Path(tuple(part if isinstance(part, int) else self._name(part) for part in parts))

    def _name(self, name: str) -> str:
        placeholder = self._by_name.setdefault(name, f"#n{len(self._by_name)}")
        self.names[placeholder] = name
        return placeholder

    def value(self, term: Term) -> nodes.Value:
        """Return a new placeholder for the value of a term."""
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = self.parameters.evaluate(term)
        return nodes.Value(placeholder)


def condition(term: Term, values: StatementValues) -> StatementCondition:
    """Translate a condition of a PartiQL statement to a condition expression, and return the compiled and checked
    expression.

    Raises ValidationError if the condition is invalid.
    """
    placeholders = _Placeholders(values)
    text = render_condition(_condition(term, placeholders))
    compiled_condition = compiled.compile_condition(text, placeholders.names, expression_messages.STATEMENT)
    compiled_condition.check(placeholders.values)
    return StatementCondition(compiled_condition, placeholders.values, tuple(dict.fromkeys(attributes(term))))


def _condition(term: Term, placeholders: _Placeholders) -> nodes.Condition:
    match term:
        case JoinedTerm():
            parts = tuple(_joined_part(part, placeholders) for part in term.terms)
            return nodes.And(parts) if term.operator == "and" else nodes.Or(parts)
        case NotTerm():
            if isinstance(term.term, PathTerm | Constant):
                raise ValidationError(messages.NOT_OPERAND)
            return nodes.Not(_condition(term.term, placeholders))
        case Infix():
            return _comparison(term, placeholders)
        case BetweenTerm():
            operand, lower, upper = (_operand(part, placeholders) for part in (term.operand, term.lower, term.upper))
            return nodes.Between(operand, lower, upper)
        case InTerm():
            return _in_condition(term, placeholders)
        case IsTerm():
            return _is_condition(term, placeholders)
        case CallTerm():
            return _call_condition(term, placeholders)
        case _:
            raise ValidationError(messages.WHERE_OPERAND)


def _joined_part(term: Term, placeholders: _Placeholders) -> nodes.Condition:
    if isinstance(term, PathTerm | Constant):
        raise ValidationError(messages.LOGICAL_OPERANDS)
    return _condition(term, placeholders)


def _in_condition(term: InTerm, placeholders: _Placeholders) -> nodes.Condition:
    choices = choices_of(term)
    if not choices or not (isinstance(term.operand, PathTerm) or _is_test(term.operand)):
        raise ValidationError(messages.IN_OPERANDS)
    operands = tuple(_operand(choice, placeholders) for choice in choices)
    if isinstance(term.operand, PathTerm):
        return nodes.In(placeholders.path(term.operand.parts), operands)
    return _conditional(
        _nested_condition(term.operand, placeholders),
        *(nodes.In(truth, operands) for truth in _boolean_values(placeholders)),
    )


def _comparison(term: Infix, placeholders: _Placeholders) -> nodes.Condition:
    if term.operator not in COMPARISONS:
        raise ValidationError(messages.unsupported_in_condition(term.operator))
    for test, other in ((term.left, term.right), (term.right, term.left)):
        if _is_test(test):
            return _test_comparison(test, term.operator, other, placeholders)
    return nodes.Compare(term.operator, _operand(term.left, placeholders), _operand(term.right, placeholders))


def _is_test(term: Term) -> bool:
    return term.function in CONDITION_FUNCTIONS if isinstance(term, CallTerm) else is_test(term)


def _test_comparison(test: Term, operator: str, other: Term, placeholders: _Placeholders) -> nodes.Condition:
    """Translate a comparison of the condition `test` with another term, such as `(a = 1) = true`.

    The value of the condition is true or false, and never equals a value of another type.
    """
    if operator not in ("=", "<>"):
        raise ValidationError(expression_messages.operand_type(operator, "BOOL"))
    first = _nested_condition(test, placeholders)
    equal: nodes.Condition
    if isinstance(other, Constant) and other.kind == "BOOL":
        equal = first if other.text == "true" else nodes.Not(first)
    elif _is_test(other):
        second = _nested_condition(other, placeholders)
        equal = _conditional(first, second, nodes.Not(second))
    else:
        operand = _operand(other, placeholders)
        equal = _conditional(first, *(nodes.Compare("=", truth, operand) for truth in _boolean_values(placeholders)))
    return equal if operator == "=" else nodes.Not(equal)


def _nested_condition(test: Term, placeholders: _Placeholders) -> nodes.Condition:
    """Translate a condition that is compared with another term, such as `a = 1` in `(a = 1) = true`.

    The nesting depth is limited, so that no statement exhausts the stack.
    """
    if placeholders.level == MOST_LEVELS:
        raise ValidationError(expression_messages.too_many_operators(limits.EXPRESSION_OPERATORS + 1))
    placeholders.level += 1
    node = _condition(test, placeholders)
    placeholders.level -= 1
    return node


def _boolean_values(placeholders: _Placeholders) -> tuple[nodes.Value, nodes.Value]:
    return placeholders.value(Constant("BOOL", "true")), placeholders.value(Constant("BOOL", "false"))


def _conditional(test: nodes.Condition, if_true: nodes.Condition, if_false: nodes.Condition) -> nodes.Condition:
    """Return a condition that is equivalent to `if_true` if the test is true, and to `if_false` otherwise.

    The result contains the test twice, because expressions cannot compare conditions.
    """
    if sum(map(_operators, (test, if_true, if_false))) > limits.EXPRESSION_OPERATORS:
        raise ValidationError(expression_messages.too_many_operators(limits.EXPRESSION_OPERATORS + 1))
    return nodes.Or((nodes.And((test, if_true)), nodes.And((nodes.Not(test), if_false))))


def _operators(node: nodes.Condition) -> int:
    match node:
        case nodes.And() | nodes.Or():
            return len(node.conditions) - 1 + sum(map(_operators, node.conditions))
        case nodes.Not():
            return 1 + _operators(node.condition)
        case _:
            return 1


def _is_condition(term: IsTerm, placeholders: _Placeholders) -> nodes.Condition:
    if not isinstance(term.operand, PathTerm):
        raise ValidationError(messages.IS_OPERAND)
    path = placeholders.path(term.operand.parts)
    if term.type_name == "missing":
        return nodes.Call("attribute_not_exists", (path,))
    kind = _TYPES.get(term.type_name)
    if kind is None:
        raise ValidationError(messages.unsupported_type(term.type_name.upper()))
    return nodes.Call("attribute_type", (path, placeholders.value(Constant("S", kind))))


def _call_condition(term: CallTerm, placeholders: _Placeholders) -> nodes.Call:
    count = CONDITION_FUNCTIONS.get(term.function)
    if count is None:
        if term.function == "size":
            raise ValidationError(messages.WHERE_OPERAND)
        raise ValidationError(messages.unknown_function(term.function, term.place))
    return _function(term, count, placeholders)


def _function(term: CallTerm, count: int, placeholders: _Placeholders) -> nodes.Call:
    if len(term.arguments) != count:
        raise ValidationError(expression_messages.operand_count(term.function, len(term.arguments)))
    if term.function in _NEED_PATHS and not isinstance(term.arguments[0], PathTerm):
        raise ValidationError(expression_messages.path_required(term.function))
    return nodes.Call(term.function, tuple(_operand(argument, placeholders) for argument in term.arguments))


def _operand(term: Term, placeholders: _Placeholders) -> nodes.Operand:
    match term:
        case PathTerm():
            return placeholders.path(term.parts)
        case CallTerm(function="size"):
            return _function(term, 1, placeholders)
        case CallTerm():
            raise ValidationError(messages.unknown_function(term.function, term.place))
        case Infix():
            raise ValidationError(messages.unsupported_in_condition(term.operator))
        case _:
            return placeholders.value(term)


# Updates


def update(changes: Sequence[Assignment | Removal], values: StatementValues) -> StatementUpdate:
    """Translate the changes of a PartiQL statement to an update expression, and return the compiled and checked
    expression.

    Raises ValidationError if a change is invalid.
    """
    placeholders = _Placeholders(values)
    clauses: dict[str, list[nodes.Action]] = {}
    for change in changes:
        keyword, action = _action(change, placeholders)
        clauses.setdefault(keyword, []).append(action)
    text = render_update(nodes.Update(tuple(nodes.Clause(word, tuple(actions)) for word, actions in clauses.items())))
    compiled_update = compiled.compile_update(text, placeholders.names, expression_messages.STATEMENT)
    compiled_update.check(placeholders.values)
    return StatementUpdate(compiled_update, placeholders.values)


def _action(change: Assignment | Removal, placeholders: _Placeholders) -> tuple[str, nodes.Action]:
    path = placeholders.path(change.path.parts)
    if isinstance(change, Removal):
        return "REMOVE", nodes.RemoveAction(path)
    value = change.value
    if isinstance(value, CallTerm) and value.function in _SET_FUNCTIONS:
        return _set_change(change.path, path, value, placeholders)
    return "SET", nodes.SetAction(path, _assigned_value(value, placeholders))


def _set_change(
    target: PathTerm, path: nodes.Path, call: CallTerm, placeholders: _Placeholders
) -> tuple[str, nodes.Action]:
    name = call.function.upper()
    if len(call.arguments) != 2:
        raise ValidationError(messages.set_arguments(name, call.place))
    first, second = call.arguments
    if not isinstance(first, PathTerm) or first.parts != target.parts:
        raise ValidationError(messages.set_target(name, call.place))
    value = placeholders.value(second)
    if not {"SS", "NS", "BS"} & placeholders.values[value.name].keys():
        raise ValidationError(messages.set_operand(name, first.place))
    if call.function == "set_add":
        return "ADD", nodes.AddAction(path, value)
    return "DELETE", nodes.DeleteAction(path, value)


def _assigned_value(term: Term, placeholders: _Placeholders) -> nodes.SetValue:
    if isinstance(term, Infix):
        if term.operator not in ("+", "-"):
            raise ValidationError(messages.unsupported_in_update(term.operator))
        return nodes.Arithmetic(
            term.operator, _assigned_operand(term.left, placeholders), _assigned_operand(term.right, placeholders)
        )
    return _assigned_operand(term, placeholders)


def _assigned_operand(term: Term, placeholders: _Placeholders) -> nodes.Operand:
    match term:
        case PathTerm():
            return placeholders.path(term.parts)
        case CallTerm(function="list_append"):
            if len(term.arguments) != 2:
                raise ValidationError(expression_messages.operand_count("list_append", len(term.arguments)))
            return nodes.Call("list_append", tuple(_assigned_operand(part, placeholders) for part in term.arguments))
        case CallTerm():
            raise ValidationError(messages.unknown_function(term.function, term.place))
        case IsTerm() | NotTerm():
            raise ValidationError(messages.IS_IN_UPDATE)
        case Infix():
            raise ValidationError(messages.unsupported_in_update(term.operator))
        case _:
            return placeholders.value(term)
