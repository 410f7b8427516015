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


def damaged(source: str, generator: Random) -> str:
    """Return the source of a design, usually with one mistake in it."""
    tree = ast.parse(source)
    while not generator.choice(_MUTATIONS)(tree, generator):
        pass
    return ast.unparse(ast.fix_missing_locations(tree))


def _expression(texts: list[str], generator: Random) -> ast.expr:
    return ast.parse(generator.choice(texts), mode="eval").body


def _calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and (node.args or node.keywords)]


def _other_value(tree: ast.AST, generator: Random) -> bool:
    call = generator.choice(_calls(tree))
    place = generator.randrange(len(call.args) + len(call.keywords))
    if place < len(call.args):
        call.args[place] = _expression(VALUES, generator)
    else:
        call.keywords[place - len(call.args)].value = _expression(VALUES, generator)
    return True


def _omit_argument(tree: ast.AST, generator: Random) -> bool:
    call = generator.choice(_calls(tree))
    choice = generator.choice([part for part in (call.args, call.keywords) if part])
    choice.pop(generator.randrange(len(choice)))
    return True


def _swap_arguments(tree: ast.AST, generator: Random) -> bool:
    keywords = [keyword for call in _calls(tree) for keyword in call.keywords]
    if len(keywords) < 2:
        return False
    first, second = generator.sample(keywords, 2)
    first.value, second.value = second.value, first.value
    return True


def _other_type(tree: ast.AST, generator: Random) -> bool:
    typed = [node for node in ast.walk(tree) if isinstance(node, (ast.AnnAssign, ast.arg)) and node.annotation]
    if typed:
        generator.choice(typed).annotation = _expression(TYPES, generator)
    return bool(typed)


def _other_text(tree: ast.AST, generator: Random) -> bool:
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    node = generator.choice(texts)
    position = generator.randrange(len(str(node.value)) + 1)
    piece = generator.choice(["{", "}", "#", ":", "é", "{id}", ":010d", ":shard(4)", ":rank(a,b)", ":upper", ""])
    node.value = f"{str(node.value)[:position]}{piece}{str(node.value)[position + generator.randrange(2) :]}"
    return True


def _duplicate_statement(tree: ast.AST, generator: Random) -> bool:
    body = generator.choice([body for node in ast.walk(tree) if isinstance(body := getattr(node, "body", None), list)])
    body.append(deepcopy(generator.choice(body)))
    return True


_MUTATIONS: list[Callable[[ast.AST, Random], bool]] = [
    _other_value,
    _other_value,
    _omit_argument,
    _swap_arguments,
    _other_type,
    _other_text,
    _duplicate_statement,
]
