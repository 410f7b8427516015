"""Designs damaged as people damage them: an argument left out or swapped, a value or a type of another kind."""

from __future__ import annotations

import ast
from collections.abc import Callable
from copy import deepcopy
from random import Random

VALUES = [
    "None",
    "True",
    "5",
    "-1",
    "1.5",
    "'x'",
    "''",
    "b'x'",
    "[]",
    "{}",
    "()",
    "[1]",
    "{'x': 1}",
    "object()",
    "str",
    "print",
    "float('nan')",
    "float('inf')",
    "1e308",
    "'{'",
    "'{x}'",
    "'{id:nope}'",
    "'#'",
    "'\\ud800'",
    "'a' * 3000",
    "F.id",
    "F.id == 1",
    "key('A')",
    "attr('id')",
    "Rate(average=1)",
    "Volume(count=5)",
    "Bytes(400)",
    "Distinct(5)",
    "Entity",
    "Claim('0.5 RCU')",
    "GSI('g', pk='a')",
    "LSI('l', sk='b')",
    "TTL('t')",
    "OnDemand()",
    "each([1])",
    "every_shard()",
    "Provisioned(read=1, write=1)",
    "unique('x')",
    "everything()",
    "datetime(2026, 1, 1)",
    "Table('t', pk='p')",
    "[GSI(f'g{i}', pk=f'a{i}') for i in range(25)]",
    "pk(id=1)",
    "pk(id=1).sk.gt(id=1)",
    "range(3)",
    "lambda: 1",
]
TYPES = [
    "str",
    "int",
    "float",
    "bool",
    "bytes",
    "Decimal",
    "datetime",
    "date",
    "UUID",
    "Any",
    "object",
    "None",
    "str | None",
    "int | str",
    "datetime | str",
    "list",
    "list[str]",
    "dict",
    "dict[int, str]",
    "dict[bytes, int]",
    "set",
    "set[str]",
    "set[bool]",
    "frozenset[int]",
    "tuple",
    "tuple[int, ...]",
    "Literal['a', 1]",
    "Enum",
    "complex",
    "type",
    "Annotated[str, Attribute('')]",
    "Annotated[str, Attribute('PK')]",
    "Annotated[int, Field(ge=9, le=0)]",
    "Annotated[datetime, Attribute(stored='epoch_s')]",
    "'Undefined'",
]


def damaged(source: str, chance: Random) -> str:
    """Return the source of a design, usually with one mistake in it."""
    tree = ast.parse(source)
    while not chance.choice(_WAYS)(tree, chance):
        pass
    return ast.unparse(ast.fix_missing_locations(tree))


def _expression(texts: list[str], chance: Random) -> ast.expr:
    return ast.parse(chance.choice(texts), mode="eval").body


def _calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and (node.args or node.keywords)]


def _other_value(tree: ast.AST, chance: Random) -> bool:
    call = chance.choice(_calls(tree))
    place = chance.randrange(len(call.args) + len(call.keywords))
    if place < len(call.args):
        call.args[place] = _expression(VALUES, chance)
    else:
        call.keywords[place - len(call.args)].value = _expression(VALUES, chance)
    return True


def _left_out(tree: ast.AST, chance: Random) -> bool:
    call = chance.choice(_calls(tree))
    choice = chance.choice([part for part in (call.args, call.keywords) if part])
    choice.pop(chance.randrange(len(choice)))
    return True


def _swapped(tree: ast.AST, chance: Random) -> bool:
    keywords = [keyword for call in _calls(tree) for keyword in call.keywords]
    if len(keywords) < 2:
        return False
    first, second = chance.sample(keywords, 2)
    first.value, second.value = second.value, first.value
    return True


def _other_type(tree: ast.AST, chance: Random) -> bool:
    typed = [node for node in ast.walk(tree) if isinstance(node, (ast.AnnAssign, ast.arg)) and node.annotation]
    if typed:
        chance.choice(typed).annotation = _expression(TYPES, chance)
    return bool(typed)


def _other_text(tree: ast.AST, chance: Random) -> bool:
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    node = chance.choice(texts)
    at = chance.randrange(len(str(node.value)) + 1)
    piece = chance.choice(["{", "}", "#", ":", "é", "{id}", ":010d", ":shard(4)", ":rank(a,b)", ":upper", ""])
    node.value = f"{str(node.value)[:at]}{piece}{str(node.value)[at + chance.randrange(2) :]}"
    return True


def _twice(tree: ast.AST, chance: Random) -> bool:
    body = chance.choice([body for node in ast.walk(tree) if isinstance(body := getattr(node, "body", None), list)])
    body.append(deepcopy(chance.choice(body)))
    return True


_WAYS: list[Callable[[ast.AST, Random], bool]] = [
    _other_value,
    _other_value,
    _left_out,
    _swapped,
    _other_type,
    _other_text,
    _twice,
]
