"""What the state machine draws: tables, items, conditions, updates, all from few values so that they meet."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import strategies as st
from tests.simulation.model import IndexModel, TableModel
from tests.simulation.model_values import Item, Value, order

NOW = 1_700_000_000
TEXTS = ["a", "ab", "b", "é", "\uffff", "\U00010000"]
NUMBERS = ["0", "-1", "1", "1.50", "10", "1E+2", "-2.25", "99999999999999999999999999999999999999", "1e-30"]
BINARIES = [b"\x00", b"\x00\x01", b"a", b"\xff", b"\xff\x00", b"\x7f"]
KEYS: dict[str, list[Any]] = {"S": TEXTS, "N": NUMBERS, "B": BINARIES}

G, A, N, B, X = ("g", "S"), ("a", "S"), ("n", "N"), ("b", "B"), ("x", "S")
INDEXED = dict((G, A, N, B, X))


def tables() -> list[TableModel]:
    """Fresh models of the tables that the machine chooses from."""
    p, s = ("p", "S"), ("s", "N")
    wide = TableModel("wide", p, s, ttl="t")
    _add(wide, IndexModel("by_a", False, (p,), (A,), "KEYS_ONLY"))
    _add(wide, IndexModel("by_n", False, (p,), (N,), "INCLUDE", ("m",)))
    _add(wide, IndexModel("by_g", True, (G,), (s,)), IndexModel("by_gn", True, (G,), (N,), "KEYS_ONLY"))
    flat = TableModel("flat", ("p", "B"), ttl="t")
    _add(flat, IndexModel("multi", True, (G, A), (N, B), "INCLUDE", ("x", "m")), IndexModel("sparse", True, (N,)))
    plain = TableModel("plain", ("p", "N"), ("s", "S"))
    bytes_sorted = TableModel("bytes", p, ("s", "B"))
    _add(bytes_sorted, IndexModel("swapped", True, (("s", "B"),), (p,), "INCLUDE", ("l",)))
    return [wide, flat, plain, bytes_sorted]


def _add(table: TableModel, *indexes: IndexModel) -> None:
    table.indexes.update({index.name: index for index in indexes})


LIVE = [
    IndexModel("live_x", True, (X,), (A,)),
    IndexModel("live_n", True, (N,), (), "KEYS_ONLY"),
    IndexModel("live_gb", True, (G, B), (X,), "INCLUDE", ("m",)),
]
"""Indexes that are created and deleted while the table is in use."""

texts = st.sampled_from(["", *TEXTS]).map(lambda text: {"S": text})
numbers = st.sampled_from(NUMBERS).map(lambda text: {"N": text})
scalars = st.one_of(
    texts,
    numbers,
    st.sampled_from([b"", *BINARIES]).map(lambda content: {"B": content}),
    st.booleans().map(lambda content: {"BOOL": content}),
    st.just({"NULL": True}),
)


def _unique_lists(members: list[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(members), min_size=1, max_size=3, unique=True)


sets = st.one_of(
    _unique_lists(TEXTS).map(lambda members: {"SS": members}),
    _unique_lists(["0", "1", "1.5", "10"]).map(lambda members: {"NS": members}),
    _unique_lists(BINARIES).map(lambda members: {"BS": members}),
)
lists = st.lists(scalars, max_size=3).map(lambda members: {"L": members})
maps = st.fixed_dictionaries({}, optional={"k": scalars, "z": lists, "o": texts}).map(lambda members: {"M": members})
paddings = st.sampled_from([0, 900, 1100, 5000, 5000, 350_000]).map(lambda length: {"S": "x" * length})
timestamps = st.one_of(
    st.integers(-300, 3000).map(lambda offset: {"N": str(NOW + offset)}),
    st.sampled_from([{"N": f"{NOW}.5"}, {"N": "-1"}, {"N": "1"}, {"N": "1e40"}, {"S": str(NOW)}]),
)
anything = st.one_of(scalars, sets, lists, maps)


def key_value(kind: str) -> st.SearchStrategy[Value]:
    """Return a strategy for key values."""
    return st.sampled_from(KEYS[kind]).map(lambda content: {kind: content})


def indexed_value(name: str) -> st.SearchStrategy[Value]:
    """Return a strategy for values of indexed attributes, most of them valid in a key."""
    fit = key_value(INDEXED[name])
    return st.one_of(fit, fit, fit, fit, fit, fit, scalars)


ATTRIBUTES: dict[str, st.SearchStrategy[Value]] = {
    **{name: indexed_value(name) for name in INDEXED},
    "m": maps,
    "l": lists,
    "w": sets,
    "t": timestamps,
    "any": anything,
    "pad": paddings,
}


def _value(kind: str, content: Any) -> Value:
    return {kind: content}


def key(table: TableModel) -> st.SearchStrategy[Item]:
    """Return a strategy for keys of the table, with few partitions so that collections grow."""
    return st.fixed_dictionaries(
        {
            name: st.sampled_from(KEYS[kind][: 3 if (name, kind) == table.partition and table.sort else 6]).map(
                partial(_value, kind)
            )
            for name, kind in table.key_attributes
        }
    )


@st.composite
def item(draw: st.DrawFn, table: TableModel) -> Item:
    """Draw an item."""
    attributes = draw(key(table))
    names = draw(st.lists(st.sampled_from([*ATTRIBUTES]), unique=True, max_size=7))
    attributes.update({name: draw(ATTRIBUTES[name]) for name in names})
    return attributes


paths = st.one_of(
    st.sampled_from(["g", "a", "n", "b", "x", "m", "l", "w", "t", "any"]).map(lambda name: (name,)),
    st.sampled_from([("m", "k"), ("m", "z"), ("m", "z", 0), ("l", 0), ("l", 1), ("m", "o")]),
)


@st.composite
def _between(draw: st.DrawFn) -> tuple[Any, ...]:
    kind = draw(st.sampled_from("SNB"))
    low, high = sorted(draw(st.lists(key_value(kind), min_size=2, max_size=2)), key=order)
    return "between", draw(paths), low, high


_starts = st.one_of(texts, st.sampled_from(BINARIES).map(lambda content: {"B": content}))
_simple = st.one_of(
    st.tuples(st.sampled_from(["attribute_exists", "attribute_not_exists"]), paths),
    st.tuples(st.sampled_from(["=", "<>"]), paths, anything),
    st.tuples(st.sampled_from(["<", "<=", ">", ">="]), paths, st.one_of(texts, numbers)),
    st.tuples(st.just("begins_with"), paths, _starts),
    st.tuples(st.just("contains"), paths, scalars),
    st.tuples(st.just("in"), paths, st.lists(scalars, min_size=1, max_size=3)),
    st.tuples(st.just("size"), st.sampled_from(["=", "<", ">="]), paths, st.integers(0, 3)),
    st.tuples(st.just("attribute_type"), paths, st.sampled_from(["S", "N", "B", "SS", "L", "M", "BOOL", "NULL"])),
    _between(),
)
conditions = st.recursive(
    _simple,
    lambda inner: st.one_of(st.tuples(st.sampled_from(["and", "or"]), inner, inner), st.tuples(st.just("not"), inner)),
    max_leaves=4,
)
maybe_condition = st.one_of(st.none(), st.none(), conditions)

_operands = st.one_of(
    st.tuples(st.just("value"), anything),
    st.tuples(st.just("path"), paths),
    st.tuples(st.sampled_from(["+", "-"]), paths, st.sampled_from(["1", "-2.5", "0"]).map(lambda text: {"N": text})),
    st.tuples(st.just("if_not_exists"), paths, anything),
    st.tuples(st.just("list_append"), paths, lists),
)


@st.composite
def clauses(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Clauses of an update, each about another attribute."""
    entries = []
    for name in draw(st.lists(st.sampled_from([*ATTRIBUTES]), unique=True, min_size=1, max_size=4)):
        inside: dict[str, list[tuple[Any, ...]]] = {
            "m": [("m", "k"), ("m", "z", 0), ("m", "new")],
            "l": [("l", 0), ("l", 7)],
        }
        path = draw(st.sampled_from([(name,), *inside.get(name, [])]))
        fit: st.SearchStrategy[Any] = st.tuples(st.just("value"), ATTRIBUTES[name] if len(path) == 1 else anything)
        choices = [
            st.tuples(st.just("SET"), st.just(path), st.one_of(fit, fit, fit, _operands)),
            st.tuples(st.just("REMOVE"), st.just(path)),
        ]
        if len(path) == 1 and name in ("n", "w", "any", "t"):
            adding = st.one_of(sets, st.sampled_from(["1", "-2.5"]).map(lambda text: {"N": text}))
            choices += [
                st.tuples(st.just("ADD"), st.just(path), adding),
                st.tuples(st.just("DELETE"), st.just(path), sets),
            ]
        entries.append(draw(st.one_of(choices)))
    return entries
