"""The requests of all cases, damaged: each gets the service's own error or an answer, and the database stays sound.

    python -m tests.conformance.damaged --count 100000 --seed 1

A request is damaged where its JSON is a tree: members dropped, renamed, doubled, nested, exchanged with those of
other requests, texts and expressions cut and filled in. The seed repeats a run.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import orjson
from tests.conformance.runner import NOW, cases_of, expand, tables_of, value_at

from keyplan.clock import ManualClock
from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.errors import ServiceError

Request = dict[str, Any]
Place = tuple[Any, ...]
Ask = Callable[[Engine, str, Request], Any]

FOLDERS = {"behaviour": "behaviour/tables.json", "cases": "tables.json", "operations": "operations/tables.json"}
DAMAGED_PER_STEP = (2, 6)
MAX_BYTES = 60_000  # larger requests take their time and tell no more
MAX_PIECES = 3_000
PIECES: list[Any] = [
    None, True, False, 0, -1, 1, 5, 1.5, 1e308, 2**31, 2**63, 2**64, 10**40, "", "a", "#a", ":a", "x" * 300,
    [], {}, [{}], {"S": ""}, {"S": "a"}, {"S": "a", "N": "1"}, {"N": "abc"}, {"N": "1e126"}, {"N": "-0"}, {"BOOL": 1},
    {"NULL": False}, {"B": "!!"}, {"B": "YQ=="}, {"SS": []}, {"SS": ["a", "a"]}, {"NS": ["1", "1.0"]}, {"L": []},
    {"M": {}}, {"L": [{"M": {"": {"S": "a"}}}]}, "\u0000", "é", "\U0001f600", "ALL_NEW", "TOTAL", "INDEXES", "NONE",
    "attribute_exists(a)", "SET a = :v", "a.b[0]", "arn:aws:dynamodb:us-east-1:000000000000:table/x",
]  # fmt: skip
TOKENS = [
    "(", ")", "[", "]", "{", "}", ".", ",", "?", "*", "+", "-", "'", '"', "=", "<>", "<", "AND", "OR", "NOT", "BETWEEN",
    "IN", "begins_with", "contains", "size", "attribute_type", "#n", ":v", "[0]", "SET", "REMOVE", "ADD", "DELETE",
    "if_not_exists", "list_append", "SELECT", "FROM", "WHERE", "VALUE",
]  # fmt: skip


class FindingError(Exception):
    """Something other than an error of the service, or a database that is not sound."""


class Damage:
    """Damages requests, with pieces of those it has seen."""

    def __init__(self, generator: random.Random) -> None:
        self.generator = generator
        self._pieces = list(PIECES)
        self._names = {"TableName"}

    def collect_pieces(self, request: Request) -> None:
        """Keep a piece of a request, and all its names."""
        places = list(_places(request))
        self._names.update(place[-1] for place in places if place and isinstance(place[-1], str))
        piece = _value_at(request, self.generator.choice(places))
        if len(self._pieces) < MAX_PIECES:
            self._pieces.append(piece)
        else:
            self._pieces[self.generator.randrange(len(PIECES), MAX_PIECES)] = piece

    def damage(self, request: Request) -> Request:
        """Return a damaged copy."""
        damaged = copy.deepcopy(request)
        for _ in range(self.generator.choice((1, 1, 1, 2, 3))):
            place = self.generator.choice(list(_places(damaged)))
            if place:
                self._damage(_value_at(damaged, place[:-1]), place[-1])
        return damaged

    def _damage(self, holder: Any, name: Any) -> None:
        generator, content = self.generator, holder[name]
        match generator.randrange(8):
            case 0 | 1:
                holder[name] = copy.deepcopy(generator.choice(self._pieces))
            case 2:
                del holder[name]
            case 3 if isinstance(holder, list):
                holder.insert(name, copy.deepcopy(content))
            case 3:
                holder[self._name()] = holder.pop(name)
            case 4 if isinstance(holder, dict):
                holder[self._name()] = copy.deepcopy(generator.choice(self._pieces))
            case 5 if isinstance(content, str):
                holder[name] = self._text(content)
            case 6 if isinstance(content, list):
                holder[name] = content * generator.choice((2, 30))
            case 7:
                for _ in range(generator.choice((1, 2, 33))):
                    content = generator.choice(({"L": [content]}, {"M": {"a": content}}))
                holder[name] = content

    def _text(self, text: str) -> str:
        start = self.generator.randrange(len(text) + 1)
        end = start + self.generator.choice((0, 1, 3))
        token = self.generator.choice(TOKENS)
        filling = self.generator.choice((token, f" {token} ", chr(self.generator.randrange(1, 256)), ""))
        return text[:start] + filling + text[end:]

    def _name(self) -> str:
        return self.generator.choice(sorted(self._names))


def _places(node: Any, place: Place = ()) -> Iterator[Place]:
    yield place
    members = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, member in members:
        yield from _places(member, (*place, name))


def _value_at(node: Any, place: Place) -> Any:
    for step in place:
        node = node[step]
    return node


def ask_in_wire_form(engine: Engine, operation: str, request: Request) -> Any:
    """As the server asks: the answer can be sent."""
    return json.loads(orjson.dumps(engine.call_wire(operation, copy.deepcopy(request))))


def ask_in_python(engine: Engine, operation: str, request: Request) -> Any:
    """As a caller in the same process asks: its request stays as it is."""
    before = copy.deepcopy(request)
    try:
        return engine.call(operation, request)
    finally:
        if request != before:
            raise FindingError(f"{operation} changed its caller's request {before}")


def play_damaged(case: Request, tables: Request, damage: Damage, ask: Ask) -> Counter[str]:
    """Send a case's requests, each with damaged ones before it; how often each code was answered."""
    codes: Counter[str] = Counter()
    saved: Request = {}
    with Engine.memory(clock=ManualClock(NOW)) as engine:
        for name in case.get("tables", ()):
            engine.call_wire("CreateTable", copy.deepcopy(tables[name]))
        for step in case["steps"]:
            try:
                request = expand(step.get("request", {}), saved)
            except KeyError:  # what an earlier step was to keep is not there: it was damaged, too
                break
            if len(json.dumps(request)) > MAX_BYTES:
                continue
            damage.collect_pieces(request)
            for damaged_request in [damage.damage(request) for _ in range(damage.generator.choice(DAMAGED_PER_STEP))]:
                codes[_code(engine, step["call"], damaged_request, ask)[0]] += 1
            code, response = _code(engine, step["call"], request, ask)
            codes[code] += 1
            for name, place in step.get("save", {}).items():
                with suppress(
                    KeyError, IndexError, TypeError
                ):  # an answer other than the case's: what is asked next is, too
                    saved[name] = value_at(response, place)
        problems = fsck.check(engine)
        if problems:
            raise FindingError(f"{case['name']}: {problems}")
    return codes


def _code(engine: Engine, operation: str, request: Request, ask: Ask) -> tuple[str, Any]:
    try:
        return "", ask(engine, operation, request)
    except ServiceError as error:
        return error.code, None
    except Exception as error:
        raise FindingError(f"{operation} {json.dumps(request)}: {error!r}") from error


def run(count: int, seed: int, ask: Ask) -> Counter[str]:
    """Play cases at random until so many requests were sent. Raises FindingError."""
    generator = random.Random(seed)
    damage = Damage(generator)
    cases = [
        (case, tables)
        for folder, tables in [(folder, tables_of(file)) for folder, file in FOLDERS.items()]
        for (case,) in (entry.values for entry in cases_of(folder))
    ]
    codes: Counter[str] = Counter()
    while codes.total() < count:
        codes += play_damaged(*generator.choice(cases), damage, ask)
    return codes


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for ask in (ask_in_wire_form, ask_in_python):
        codes = run(options.count, options.seed, ask)
        print(f"{ask.__name__}: {codes.total()} requests, by code: {dict(codes.most_common())}")


if __name__ == "__main__":
    main()
