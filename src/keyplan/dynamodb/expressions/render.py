"""Trees back to text: the parsers' inverse, with parentheses only where they matter."""

from __future__ import annotations

from keyplan.dynamodb.expressions.nodes import (
    Action,
    AddAction,
    And,
    Arithmetic,
    Between,
    Call,
    Compare,
    Condition,
    DeleteAction,
    In,
    Not,
    Operand,
    Or,
    Path,
    Projection,
    RemoveAction,
    SetAction,
    SetValue,
    Update,
    Value,
)


def render_condition(condition: Condition) -> str:
    """The text that parses into this condition."""
    match condition:
        case And():
            return " AND ".join(map(_render_and_part, condition.conditions))
        case Or():
            return " OR ".join(map(_render_or_part, condition.conditions))
        case Not():
            return _render_not(condition)
        case Compare():
            left, right = render_operand(condition.left), render_operand(condition.right)
            return f"{left} {condition.operator} {right}"
        case Between():
            lower, upper = render_operand(condition.lower), render_operand(condition.upper)
            return f"{render_operand(condition.operand)} BETWEEN {lower} AND {upper}"
        case In():
            return f"{render_operand(condition.operand)} IN ({_render_list(condition.choices)})"
        case Call():
            return render_operand(condition)


def _render_not(condition: Condition) -> str:
    signs = ""
    while isinstance(condition, Not):
        signs += "NOT "
        condition = condition.condition
    return signs + _render_and_part(condition)


def _render_and_part(condition: Condition) -> str:
    text = render_condition(condition)
    return f"({text})" if isinstance(condition, And | Or) else text


def _render_or_part(condition: Condition) -> str:
    text = render_condition(condition)
    return f"({text})" if isinstance(condition, Or) else text


def render_operand(operand: Operand) -> str:
    """The text of a path, a value or a call."""
    match operand:
        case Path():
            return render_path(operand)
        case Value():
            return operand.name
        case Call():
            return f"{operand.function}({_render_list(operand.operands)})"


def _render_list(operands: tuple[Operand, ...]) -> str:
    return ", ".join(map(render_operand, operands))


def render_path(path: Path) -> str:
    """The text of a document path."""
    first, *rest = path.parts
    steps = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest)
    return str(first) + "".join(steps)


def render_projection(projection: Projection) -> str:
    """The text that parses into this projection."""
    return ", ".join(map(render_path, projection.paths))


def render_update(update: Update) -> str:
    """The text that parses into this update."""
    return " ".join(f"{clause.keyword} {', '.join(map(_render_action, clause.actions))}" for clause in update.clauses)


def _render_action(action: Action) -> str:
    path = render_path(action.path)
    match action:
        case SetAction():
            return f"{path} = {_render_set_value(action.value)}"
        case RemoveAction():
            return path
        case AddAction() | DeleteAction():
            return f"{path} {action.value.name}"


def _render_set_value(value: SetValue) -> str:
    if isinstance(value, Arithmetic):
        return f"{render_operand(value.left)} {value.operator} {render_operand(value.right)}"
    return render_operand(value)
