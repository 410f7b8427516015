"""Generated terms in two forms: as PartiQL statements, and as expressions of the other operations."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from hypothesis import strategies as st
from tests.engine.table_making import create, definitions, index, schema

from keyplan.engine.engine import Engine
from keyplan.errors import ServiceError

Value: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str | int, ...]


class Pair(NamedTuple):
    """One term in both forms."""

    statement: str
    expression: str


class Node(NamedTuple):
    """Two templates, and their content in order. Types are named in an expression as :S, :SS and so on."""

    statement: str
    expression: str
    operands: tuple[Path | Value | Node, ...]


class Writing:
    """Collector of parameters for a statement, and of values and names of placeholders for expressions."""

    def __init__(self, *, literals: bool = False) -> None:
        self.parameters: list[Value] = []
        self.values: dict[str, Value] = {}
        self.names: dict[str, str] = {}
        self._literals = literals

    def value(self, value: Value) -> Pair:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        text = literal(value) if self._literals else None
        if text is None:
            self.parameters.append(value)
        return Pair(text or "?", placeholder)

    def path(self, parts: Path) -> Pair:
        quoted = [part if isinstance(part, int) else '"{}"'.format(part.replace('"', '""')) for part in parts]
        placeholders = [part if isinstance(part, int) else self._name(part) for part in parts]
        return Pair(_joined(quoted), _joined(placeholders))

    def _name(self, name: str) -> str:
        alias = next((placeholder for placeholder, original in self.names.items() if original == name), None)
        if alias is None:
            alias = f"#n{len(self.names)}"
            self.names[alias] = name
        return alias

    def node(self, node: Node) -> Pair:
        pairs = [self._operand(operand) for operand in node.operands]
        self.values |= {f":{kind}": {"S": kind} for kind in re.findall(r":([A-Z]+)", node.expression)}
        return Pair(
            node.statement.format(*(pair.statement for pair in pairs)),
            node.expression.format(*(pair.expression for pair in pairs)),
        )

    def _operand(self, operand: Path | Value | Node) -> Pair:
        if isinstance(operand, Node):
            return self.node(operand)
        return self.value(operand) if isinstance(operand, dict) else self.path(operand)

    def for_statement(self) -> dict[str, Any]:
        return {"Parameters": self.parameters} if self.parameters else {}

    def for_expressions(self) -> dict[str, Any]:
        members = {"ExpressionAttributeValues": self.values, "ExpressionAttributeNames": self.names}
        return {member: content for member, content in members.items() if content}


def _joined(parts: list[str | int]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")


def literal(value: Value) -> str | None:
    """Return the value as a literal; None if it contains binary."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return "'{}'".format(content.replace("'", "''"))
        case "N":
            return str(content)
        case "BOOL":
            return str(content)
        case "NULL":
            return "null"
        case "SS" | "NS":
            return "<<{}>>".format(", ".join(str(literal({kind[0]: member})) for member in content))
        case "L":
            return _enclosed("[{}]", [literal(member) for member in content])
        case "M":
            return _enclosed("{{{}}}", [_member(name, literal(member)) for name, member in content.items()])
        case _:
            return None


def _member(name: str, text: str | None) -> str | None:
    return None if text is None else f"{literal({'S': name})}: {text}"


def _enclosed(template: str, texts: list[str | None]) -> str | None:
    return None if None in texts else template.format(", ".join(map(str, texts)))


# Tables


def make(engine: Engine, name: str) -> None:
    """Create a table with keys pk and sk, and indexes of every projection."""
    create(
        engine,
        name,
        AttributeDefinitions=definitions(pk="S", sk="N", a="S", b="N", c="B"),
        KeySchema=schema("pk", "sk"),
        GlobalSecondaryIndexes=[
            index("by-a", "a", "sk", Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["n", "m"]}),
            index("by-c", "c"),
        ],
        LocalSecondaryIndexes=[
            index("local-a", "pk", "a"),
            index("local-b", "pk", "b", Projection={"ProjectionType": "KEYS_ONLY"}),
        ],
    )


# Strategies


TEXTS = st.sampled_from(["", "a", "ab", "b", "it's", 'q"t', "--x", "é", "?"])
NUMBERS = st.sampled_from(["0", "1", "2", "-1", "1.5", "1E3", "-0.0015", "9.9E125", "1E-130"])
BINARIES = st.sampled_from([b"", b"a", b"\x00\xff"])
NAMES = st.sampled_from(["n", "m", "l", "t", "ss", "ns", "size", "x.y", 'q"t', "Order", "é"])
_FREE = ("t", "size", 'q"t', "Order", "é")
_INSIDE: list[Path] = [("l", 0), ("l", 1), ("m", "n"), ("m", "size"), ("m", 'q"t'), ("x.y", 0, "t"), ("x.y", 1)]


def _typed(kind: str) -> Callable[[Any], Value]:
    return lambda content: {kind: content}


TEXT_VALUES, NUMBER_VALUES = TEXTS.map(_typed("S")), NUMBERS.map(_typed("N"))
SETS = st.one_of(
    st.lists(TEXTS, min_size=1, max_size=3, unique=True).map(_typed("SS")),
    st.lists(NUMBERS, min_size=1, max_size=3, unique=True).map(_typed("NS")),
)
LEAVES = st.one_of(
    TEXT_VALUES,
    NUMBER_VALUES,
    BINARIES.map(_typed("B")),
    st.booleans().map(_typed("BOOL")),
    st.just({"NULL": True}),
    SETS,
    st.lists(BINARIES, min_size=1, max_size=3, unique=True).map(_typed("BS")),
)
LISTS = st.lists(LEAVES, max_size=3).map(_typed("L"))
MAPS = st.dictionaries(NAMES, LEAVES, max_size=4).map(_typed("M"))
VALUES = st.one_of(LEAVES, LISTS, MAPS, st.lists(MAPS, max_size=2).map(_typed("L")))
KEYS = {"a": TEXTS.filter(bool).map(_typed("S")), "b": NUMBER_VALUES, "c": BINARIES.filter(bool).map(_typed("B"))}
"""The keys of indexes."""
TYPED = {"n": NUMBER_VALUES, "l": LISTS, "m": MAPS, "ss": SETS, "x.y": st.lists(MAPS, max_size=2).map(_typed("L"))}
ITEMS = st.fixed_dictionaries(TYPED, optional=KEYS | dict.fromkeys(_FREE, VALUES))
FREE_PATHS = st.one_of(st.sampled_from(_FREE).map(lambda name: (name,)), st.sampled_from(_INSIDE))
PATHS = st.one_of(NAMES.map(lambda name: (name,)), st.sampled_from(_INSIDE))

_COMPARISONS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
_TYPES = st.sampled_from(["S", "N", "L", "M", "SS"])
_IS = {"NULL": "NULL", "BOOLEAN": "BOOL", "STRING": "S", "NUMERIC": "N", "LIST": "L", "STRUCT": "M", "BLOB": "B"}


@st.composite
def _tests(draw: st.DrawFn) -> Node:
    path = draw(PATHS)
    match draw(st.integers(0, 9)):
        case 0 | 1:
            template = f"{{}} {draw(_COMPARISONS)} {{}}"
            return Node(template, template, draw(st.permutations([path, draw(VALUES | PATHS)]).map(tuple)))
        case 2:
            template = "{} BETWEEN {} AND {}"
            return Node(template, template, (path, draw(LEAVES), draw(LEAVES)))
        case 3:
            return Node("{} IN [{}, {}]", "{} IN ({}, {})", (path, draw(VALUES), draw(VALUES)))
        case 4 | 5:
            template = f"{draw(st.sampled_from(['begins_with', 'contains']))}({{}}, {{}})"
            return Node(template, template, (path, draw(LEAVES)))
        case 6:
            template = f"size({{}}) {draw(_COMPARISONS)} {{}}"
            return Node(template, template, (path, draw(NUMBER_VALUES)))
        case 7:
            kind = draw(_TYPES)
            return Node("attribute_type({}, " + f"'{kind}')", "attribute_type({}, " + f":{kind})", (path,))
        case 8:
            name, kind = draw(st.sampled_from(sorted(_IS.items())))
            return Node("{} IS " + name, "attribute_type({}, " + f":{kind})", (path,))
        case _:
            forms = ["attribute_exists({})", "{} IS NOT MISSING"], ["attribute_not_exists({})", "{} IS MISSING"]
            expression, missing = draw(st.sampled_from(forms))
            return Node(draw(st.sampled_from([expression, missing])), expression, (path,))


def _joints(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    operators = st.sampled_from(["({} AND {})", "({} OR {})"])
    joined = st.builds(lambda form, left, right: Node(form, form, (left, right)), operators, inner, inner)
    return joined | inner.map(lambda node: Node("(NOT {})", "(NOT {})", (node,)))


CONDITIONS = st.recursive(_tests(), _joints, max_leaves=4)


# Answers

_BEFORE = re.compile(
    r"(Validation failed in TransactStatements\[0\]: |1 validation error detected: )?(Invalid \w+Expression: )?"
)


def failure(error: ServiceError) -> tuple[str, str]:
    """Return code and message of a failure, without the position of the fault."""
    return error.code, _BEFORE.sub("", error.message, count=1)
