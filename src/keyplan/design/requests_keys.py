"""Key attributes of requests: made from a call's arguments by templates, or as fields are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keyplan.design.field_decoding import decode_value
from keyplan.design.field_types import AttributeValue
from keyplan.design.fields import StoredField
from keyplan.design.plan import KeyCondition, KeyValue
from keyplan.design.requests_sources import WALKED, Arguments, Read, all_values, is_argument, reader
from keyplan.design.requests_text import Make
from keyplan.design.symbols import Each, EveryShard
from keyplan.design.template_errors import KeyValueError, MissingField
from keyplan.design.template_parse import Text
from keyplan.design.templates import BoundTemplate

Encode = Callable[[Any], AttributeValue]


def key_value(value: KeyValue) -> Make:
    """The function that makes one key attribute's value."""
    if any(isinstance(source, EveryShard) for source in value.sources.values()):
        return lambda arguments: {"S": arguments[WALKED]}
    if value.field is not None:
        encode = value.field.encode_up if value.part == "rounded_up" else value.field.encode
        return _plain(value.field, encode, reader(value.sources[value.field.name]))
    template = value.template
    assert template is not None, "a key attribute is made by a template or a field"
    text = _TEXTS[value.part](template)
    if value.part == "whole" and all(is_argument(source, name) for name, source in value.sources.items()):
        # Only a whole text: other arguments may have the names of fields that are not to be in a part of it.
        return lambda arguments: {"S": text(arguments)}
    reads = [(name, reader(source)) for name, source in value.sources.items()]
    return lambda arguments: {"S": text({name: read(arguments) for name, read in reads})}


def _plain(field: StoredField, encode: Encode, read: Read) -> Make:
    code, name = field.type_code, field.name

    def make(arguments: Arguments) -> AttributeValue:
        value = read(arguments)
        if value is None:
            raise MissingField(name)
        made = encode(value)
        if code not in made:
            raise KeyValueError(name, value, f"it is stored as {next(iter(made))}, and the key is of type {code}")
        if made[code] in {"", b""}:
            raise KeyValueError(name, value, "it is empty, which DynamoDB refuses in a key")
        return made

    return make


def _begins(template: BoundTemplate) -> Callable[[Mapping[str, Any]], str]:
    """The text up to and within the last given field, without what follows it."""

    def text(values: Mapping[str, Any]) -> str:
        pieces: list[str] = []
        last = max(number for number, part in enumerate(template.parts) if getattr(part, "name", None) in values)
        for number, part in enumerate(template.parts[: last + 1]):
            if isinstance(part, Text):
                pieces.append(part.text)
            elif number == last and isinstance(values[part.name], str) and part.field.type is not str:
                pieces.append(values[part.name])  # the beginning of a day, a UUID: no whole value of its type
            else:
                pieces.append(part.encode(values[part.name]))
        return "".join(pieces)

    return text


_TEXTS: dict[str, Callable[[BoundTemplate], Callable[[Mapping[str, Any]], str]]] = {
    "whole": lambda template: template.render,
    "prefix": lambda template: lambda values: template.prefix(values)[0],
    "begins": _begins,
    "lower": lambda template: template.lower,
    "upper": lambda template: template.upper,
    "after": lambda template: template.after,
    "before": lambda template: template.before,
}


def item_key(key: KeyCondition) -> Callable[[Arguments], dict[str, AttributeValue]]:
    """The function that makes the primary key of one item."""
    made = [(value.attribute, key_value(value)) for value in key.values]
    if len(made) == 1:
        ((name, make),) = made
        return lambda arguments: {name: make(arguments)}
    (first, make_first), (second, make_second) = made
    return lambda arguments: {first: make_first(arguments), second: make_second(arguments)}


def identity(key: Mapping[str, AttributeValue]) -> tuple[Any, ...]:
    """What tells one key from another, however their numbers are spelled: 1.50 is stored as 1.5."""
    return tuple(decode_value(value) for value in key.values())


def walk_values(key: KeyCondition | None, source: object) -> Callable[[Arguments], Sequence[Any]]:
    """The function that gives what a walk goes over: the values of an each(...), or every shard's partition."""
    if isinstance(source, Each):
        return all_values(source)
    assert key is not None, "only a key is walked over"
    (value,) = [one for one in key.partition if any(isinstance(part, EveryShard) for part in one.sources.values())]
    template = value.template
    assert template is not None, "shards are made by a template"
    reads = [(name, reader(part)) for name, part in value.sources.items() if not isinstance(part, EveryShard)]
    return lambda arguments: template.variants({name: read(arguments) for name, read in reads})
