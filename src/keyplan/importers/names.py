"""Legal Python names made of any names."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable

from keyplan import design
from keyplan.design.entities import Entity

_NO_LETTER = re.compile(r"\W+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OF_MODULE = frozenset({
    *keyword.kwlist, *keyword.softkwlist, *dir(builtins), *design.__all__, "Annotated", "Any", "Decimal", "Literal",
    "accepted", "claims", "datetime", "item", "name",
})  # fmt: skip
"""What a design's module needs for itself, or reads as said of the whole design."""
_OF_CLASS = frozenset({
    *keyword.kwlist, *(word for word in design.__all__ if word.islower()), *dir(Entity), "Annotated", "Any",
    "Attribute", "Decimal", "F", "bool", "bytes", "cls", "datetime", "dict", "int", "list", "self", "set", "str",
})  # fmt: skip
"""What every model has, and what a field would hide in the types of others or in the bodies of patterns."""
_LONGEST = 60
"""Lines with longer names could not be laid out."""


class Names:
    """Names of one scope, each given once."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    @classmethod
    def of_module(cls) -> Names:
        """Names beside those that a design's module uses."""
        return cls(_OF_MODULE)

    @classmethod
    def of_class(cls) -> Names:
        """Names of fields, beside those that the module uses and those that every model has."""
        return cls(_OF_CLASS)

    def take(self, wanted: str) -> str:
        """A name as it is wanted; with an underscore or a number after it where it is taken."""
        made = wanted
        number = 1
        while made in self._taken:
            made = f"{wanted}_" if number == 1 else f"{wanted}_{number}"
            number += 1
        self._taken.add(made)
        return made


def field_name(text: str) -> str:
    """A field's name: the text itself where that is one."""
    made = _NO_LETTER.sub("_", unicodedata.normalize("NFKC", text)).strip("_")[:_LONGEST]
    if not made.isidentifier() or made.startswith("model_"):
        made = f"attribute_{made}".rstrip("_")
    return _settled(made)


def class_name(text: str) -> str:
    """A class's name: OrderItem of order-item."""
    made = unicodedata.normalize("NFKC", "".join(word[:1].upper() + word[1:] for word in _words(text)))[:_LONGEST]
    return made if made.isidentifier() else _settled(f"Table{made}")


def snake_name(text: str) -> str:
    """A function's or variable's name: order_item of OrderItem."""
    made = "_".join(_words(text)).lower()[:_LONGEST].rstrip("_")
    return made if made.isidentifier() else _settled(f"table_{made}".rstrip("_"))


def _words(text: str) -> list[str]:
    parts = _NO_LETTER.sub("_", unicodedata.normalize("NFKC", text)).split("_")
    return [word for part in parts for word in _HUMP.split(part) if word]


def _settled(name: str) -> str:
    """A name that Python takes as it stands; only its plain letters where it is none otherwise."""
    if name.isidentifier() and unicodedata.normalize("NFKC", name) == name:
        return name
    return re.sub(r"[^A-Za-z0-9_]", "", name).strip("_")
