"""The patterns that every entity can begin with: by its key, of a partition, of each index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keyplan.importers.entities import PlannedEntity
from keyplan.importers.layout import Group, call, docstring, laid_out, literal
from keyplan.importers.names import Names, snake_name


def pattern_blocks(entity: PlannedEntity, table: str, model: str, subject: str, names: Names) -> Iterator[list[str]]:
    """The lines of each pattern of an entity."""
    writer = _Writer(entity, table, model)
    key = [name for part in entity.key for name in part.fields]
    partition = list(entity.key[0].fields)
    called = literal(model)[1:-1]
    yield writer.by_key("get", names.take(f"get_{subject}"), key, f"One {called} by its key.")
    yield writer.put(names.take(f"put_{subject}"), f"Write a whole {called}.")
    yield writer.by_key("delete", names.take(f"delete_{subject}"), key, f"Delete one {called}.")
    if len(entity.key) > 1:
        yield writer.query(names.take(f"list_{subject}"), partition, None, f"Each {called} of a partition.")
    for index, parts in entity.indexes.items():
        of_index = [name for part in parts[: entity.partition_sizes[index]] for name in part.fields]
        name = names.take(f"list_{subject}_by_{snake_name(index).removeprefix('by_')}")
        yield writer.query(name, of_index, index, f"Each {called} of a partition of the index {literal(index)}.")


class _Writer:
    """Writes the patterns of one entity."""

    def __init__(self, entity: PlannedEntity, table: str, model: str) -> None:
        self._entity, self._table, self._model = entity, table, model

    def by_key(self, kind: str, name: str, fields: Sequence[str], about: str) -> list[str]:
        """A pattern about one item."""
        fields = list(dict.fromkeys(fields))
        returned = "Key" if kind == "get" else "Change"
        head = self._head(call(kind, self._model), name, self._typed(fields), returned, about)
        return [*head, *_returning("key_of", fields)]

    def query(self, name: str, fields: Sequence[str], index: str | None, about: str) -> list[str]:
        """A pattern that reads a partition of the table or of an index."""
        fields = list(dict.fromkeys(fields))
        options = None if index is None else f"index={literal(index)}"
        head = self._head(call("query", self._model, options), name, self._typed(fields), "Cond", about)
        return [*head, *_returning("pk", fields)]

    def put(self, name: str, about: str) -> list[str]:
        """The pattern that writes a whole item."""
        typed = [f"item: {self._model}"]
        return [*self._head(call("put", self._model), name, typed, "Change", about), "    return put(item)"]

    def _typed(self, fields: Sequence[str]) -> list[str]:
        """Parameters for fields."""
        return [f"{one}: {self._entity.fields[one].annotation}" for one in fields]

    def _head(self, decorator: Group, name: str, typed: Sequence[str], returned: str, about: str) -> Iterator[str]:
        """All of a pattern before its body."""
        yield from laid_out(decorator, f"@{self._table}.").split("\n")
        yield from laid_out(Group("(", typed, ")"), f"def {name}", f" -> {returned}:").split("\n")
        yield from docstring(about, "    ")


def _returning(word: str, fields: Sequence[str]) -> list[str]:
    """The body: key_of(...) or pk(...) of parameters that are called as the fields."""
    given = call(word, *(f"{one}={one}" for one in fields))
    return laid_out(given, "return ", indent="    ").split("\n")
