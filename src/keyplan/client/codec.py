"""Functions and classes that convert stored items to entities, and read their keys, field values and expiry times."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

from pydantic import ValidationError

from keyplan.client.errors import UnreadableItemError
from keyplan.design.entities import OWNER, Entity, EntitySpec, ReadModel, View
from keyplan.design.fields.compiled import IRREGULAR, item_decoder, item_reader
from keyplan.design.fields.stored import decode_value, plain_decoder
from keyplan.design.keys.entity_keys import BoundKeyAttribute
from keyplan.design.keys.placeholders import BoundPlaceholder, Text
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.planning.plan import Plan

Item = Mapping[str, Any]


def key_of(spec: EntitySpec, item: Item) -> dict[str, Any]:
    """Return the primary key of an item as Python values."""
    return {name: decode_value(item[name]) for name in spec.schema.key if name in item}


def describe_item(spec: EntitySpec, key: Mapping[str, Any]) -> str:
    """Return a description of an item for use in messages, such as Task PK='USER#1' SK='TASK#2'.

    `key` is the primary key of the item.
    """
    return " ".join([spec.name, *(f"{name}={value!r}" for name, value in key.items())])


class Reader:
    """Converts stored items to objects of an entity or view."""

    def __init__(self, spec: EntitySpec, view: type[View[Any]] | None = None) -> None:
        """Create a converter to objects of `view` or, if it is None, of the entity."""
        self.spec = spec
        model: type[ReadModel] = spec.model if view is None else view
        fields = {name: stored for name, stored in spec.fields.items() if name in model.model_fields}
        # A field that is stored only in a key string is read from it, even if the key attribute has the field's name.
        stored_fields = [field for field in fields.values() if field.name not in spec.key_only_fields]
        self._fields = [
            (field.name, field.attribute, field.type_code, plain_decoder(field), field.decode)
            for field in stored_fields
        ]
        self._decode = item_decoder(stored_fields)
        self._all = len(fields)
        self._validate = model.__pydantic_validator__.validate_python
        self._sets = [name for name, stored in fields.items() if stored.is_set and not stored.optional]
        self._nones = [field.name for field in fields.values() if field.optional and field.info.is_required()]
        self._fills_absent = bool(self._sets or self._nones)
        self._times = frozenset(field.name for field in fields.values() if field.write_time and not field.optional)
        parts = [part for bound in (spec.key, *spec.indexes) for part in bound.attributes]
        self._texts = [(part.attribute, part.template) for part in parts if part.template is not None]
        recovered = {
            name for _, template in self._texts if template.reversible for name in template.fields if name in fields
        }
        self._recoverable = frozenset(recovered)
        self._expiry = spec.checked_expiry
        self.expires = self._expiry is not None
        compiled_reader = item_reader(model, fields, self._validated, always_present=self._recoverable)
        self.entity: Callable[[Item], Entity] = (
            self._validated if compiled_reader is None or spec.key_only_fields & fields.keys() else compiled_reader
        )
        """A function that converts an item to an object. It raises UnreadableItemError if the item is invalid."""

    def _validated(self, item: Item) -> Any:
        """Return the object for an item after validation by pydantic. Raises UnreadableItemError if the item is
        invalid.
        """
        try:
            try:
                values = self._decode(item)
            except IRREGULAR:
                values = self._values(item)
            if len(values) < self._all and (self._fills_absent or not self._recoverable <= values.keys()):
                self._recover(values, item)
            if self._times and not self._times <= values.keys():
                missing = ", ".join(sorted(self._times - values.keys()))
                raise ValueError(f"{missing}: Field required")  # the default is only for unwritten items
            # Stored values have fewer types than Python: a strict model could not read its own timestamps.
            return self._validate(values, by_name=True, strict=False)
        except (ValidationError, ValueError, TypeError, ArithmeticError, KeyError) as error:
            raise self._unreadable(item, error) from error

    def _values(self, item: Item) -> dict[str, Any]:
        """Return an item's field values as input for pydantic. Absent attributes are omitted.

        Used if an item does not have all attributes, or has attributes of unexpected types.
        """
        values: dict[str, Any] = {}
        for name, attribute, code, plain, decode in self._fields:
            stored = item.get(attribute)
            if stored is None:
                continue
            content = stored.get(code)
            values[name] = decode(stored) if plain is None or content is None else plain(content)
        return values

    def _recover(self, values: dict[str, Any], item: Item) -> None:
        """Add values to `values` for fields whose attribute is absent.

        These are empty sets, None for optional fields, and values that are stored only in the item's key strings.
        """
        for name in self._sets:
            values.setdefault(name, set())
        missing = self._recoverable - values.keys()
        for attribute, template in self._texts if missing else ():
            if missing.isdisjoint(template.fields) or "S" not in item.get(attribute, ()):
                continue
            restored = template.match(item[attribute]["S"]) or {}
            for name in missing.intersection(restored):
                values.setdefault(name, restored[name])
        for name in self._nones:
            values.setdefault(name, None)

    def _unreadable(self, item: Item, error: Exception) -> UnreadableItemError:
        reason = (
            "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}" for fault in error.errors())
            if isinstance(error, ValidationError)
            else str(error)
        )
        key = key_of(self.spec, item)
        return UnreadableItemError(
            f"{describe_item(self.spec, key)} cannot be read as {self.spec.name}: {reason}",
            entity=self.spec.name,
            key=key,
        )

    def has_expired(self, item: Item, now_s: int) -> bool:
        """Return True if the item's expiry time has passed."""
        if self._expiry is None:
            return False
        value = item.get(self._expiry)
        return value is not None and "N" in value and float(value["N"]) <= now_s


@lru_cache(maxsize=4096)
def reader_of(spec: EntitySpec) -> Reader:
    """Return the cached reader for an entity's items."""
    return Reader(spec)


@lru_cache(maxsize=4096)
def plan_reader(plan: Plan) -> Reader:
    """Return the cached reader for the results of a plan (a compiled pattern) that reads a single entity or view."""
    return reader_of(plan.entity) if plan.view is None else Reader(plan.entity, plan.view)


class EntityMatcher:
    """Determines the entity of each item in the result of a query or scan.

    If an item has a discriminator, the discriminator's value determines the entity. Otherwise, the key determines it:
    among all entities in the table whose key templates match the key, the one with the most specific template is
    chosen. If several templates are equally specific, a requested entity is preferred. The declaration order and the
    field names do not matter.
    """

    def __init__(
        self, requested: Sequence[EntitySpec], declared: Sequence[EntitySpec], view: type[View[Any]] | None = None
    ) -> None:
        """Create a matcher for the requested entities.

        `declared` are all entities whose items a response can contain. If `view` is given, only one entity is
        requested, and its items are converted to this view.
        """
        self._discriminator = requested[0].schema.discriminator
        readers = {spec: reader_of(spec) if view is None else Reader(spec, view) for spec in requested}
        self._by_name = {name: readers[spec] for spec in requested for name in _discriminator_values(spec)}
        other_specs = [spec for spec in declared if spec not in readers]
        candidates = sorted([*readers, *other_specs], key=lambda spec: _precedence(spec, is_requested=spec in readers))
        self.reader = self._compiled([(spec, readers.get(spec)) for spec in candidates])
        """A function that returns the reader for an item, or None if the item does not belong to a requested entity."""

    def _compiled(self, candidates: Sequence[tuple[EntitySpec, Reader | None]]) -> Callable[[Item], Reader | None]:
        """Compile the tests for all candidates into one function, which is called for each item on a page.

        The function returns the reader for the item's entity. It returns None if the item does not belong to a
        requested entity.
        """
        scope: dict[str, Any] = {"by_name": self._by_name.get, "nothing": {}}
        lines = [f"    if {OWNER!r} in item: return None"]
        if self._discriminator is not None:
            lines.append(f"    named = item.get({self._discriminator!r})")
            lines.append("    if named is not None: return by_name(named.get('S', ''))")
        specs = [spec for spec, _ in candidates]
        names = {attribute: f"key{number}" for number, attribute in enumerate(specs[0].schema.key)}
        lines.append("    try:")
        lines += [f"        {name} = item[{attribute!r}]['S']" for attribute, name in names.items()]
        lines.append("    except KeyError:")  # the key is not a String, or absent (index key)
        lines += [f"        {name} = item.get({attribute!r}, nothing).get('S')" for attribute, name in names.items()]
        for index, (spec, reader) in enumerate(candidates):
            scope[f"reader{index}"] = reader
            tests = []
            for test in _key_tests(spec, specs):
                if isinstance(test, _Prefix):
                    key = names[test.attribute]
                    tests.append(f"{key} is not None and {key}.startswith({test.text!r})")
                else:
                    name = f"fits{index}_{len(tests)}"
                    scope[name] = test
                    tests.append(f"{name}(item)")
            lines.append(f"    if {' and '.join(tests)}: return reader{index}")
        exec("\n".join(["def made(item):", *lines]), scope)  # noqa: S102 - names of attributes and literal texts only
        compiled: Callable[[Item], Reader | None] = scope["made"]
        return compiled


class _Prefix(NamedTuple):
    """A test that checks whether a key attribute starts with a literal prefix."""

    attribute: str
    text: str


def _discriminator_values(spec: EntitySpec) -> tuple[str, ...]:
    """Return the discriminator values of an entity: the choices of the discriminator field, or the entity's name."""
    for stored in spec.fields.values():
        if stored.attribute == spec.schema.discriminator:
            return tuple(map(str, stored.declared.stored_choices)) or (spec.name,)
    return (spec.name,)


def _precedence(spec: EntitySpec, *, is_requested: bool) -> tuple[Any, ...]:
    """Return a sort key that orders entities from the most specific key to the least specific.

    A key with more literal text is more specific. A field with a fixed set of choices is as specific as literal text
    with the length of its shortest choice. If two keys have the same amount of literal text, the key that repeats more
    fields comes first, then the requested entity (`is_requested`), and then the key with more fixed-width placeholders.
    """
    parts = [part for template in _templates(spec) for part in template.parts]
    open_parts = [part for part in parts if isinstance(part, BoundPlaceholder)]
    fixed = sum(len(part.text) for part in parts if isinstance(part, Text))
    fixed += sum(min(map(len, part.encoding.choices), default=0) for part in open_parts if part.encoding.choices)
    repeated = len(open_parts) - len({part.name for part in open_parts})
    widths = sum(part.encoding.width is not None for part in open_parts)
    return -fixed, -repeated, not is_requested, -widths, _template_shape(spec), spec.name


def _templates(spec: EntitySpec) -> list[BoundTemplate]:
    return [part.template for part in spec.key.attributes if part.template is not None]


def _template_shape(spec: EntitySpec) -> str:
    """Return an entity's key templates as one string, with numbers instead of field names.

    The strings of two entities are equal if their templates differ only in the names of the fields.
    """
    numbers: dict[str, int] = {}
    texts = []
    for attribute in spec.key.attributes:
        for part in attribute.template.parts if attribute.template is not None else ():
            if isinstance(part, Text):
                texts.append(part.text)
            else:
                number = numbers.setdefault(part.name, len(numbers))
                texts.append(f"{{{number}:{part.spec}:{part.pattern}}}")
        texts.append("\0")
    return "".join(texts)


def _key_tests(spec: EntitySpec, candidates: Sequence[EntitySpec]) -> list[_Prefix | Callable[[Item], bool]]:
    """Return tests for the key of an item. An item that passes all tests can belong to the entity `spec`."""
    has_unique_prefixes = _has_unique_prefixes(spec, candidates)
    tests = [_template_test(part, has_unique_prefixes) for part in spec.key.attributes]
    fields = [set(template.fields) for template in _templates(spec)]
    if not has_unique_prefixes and any(left & right for left, right in combinations(fields, 2)):
        tests.append(_repeated_fields_agree(spec))
    return tests


def _repeated_fields_agree(spec: EntitySpec) -> Callable[[Item], bool]:
    """Return a function that tests whether each field has the same value in all key attributes that contain it."""
    parts = [(part.attribute, part.template) for part in spec.key.attributes if part.template is not None]

    def values_agree(item: Item) -> bool:
        texts = [(template, item[attribute]["S"]) for attribute, template in parts]
        restored = [template.match(text) or {} for template, text in texts]
        # Two key attributes may contain the same timestamp with different precisions. Either can be the more precise
        # one.
        return any(
            all(template.fits(text, values) for template, text in texts)
            for values in (ChainMap(*restored), ChainMap(*restored[::-1]))
        )

    return values_agree


def _has_unique_prefixes(spec: EntitySpec, candidates: Sequence[EntitySpec]) -> bool:
    """Return True if the literal text at the start of an entity's keys is enough to distinguish them from the keys of
    all other candidates.
    """
    prefixes = [_literal_prefix(part) for part in spec.key.attributes]
    for other in candidates:
        pairs = zip(prefixes, (_literal_prefix(part) for part in other.key.attributes), strict=True)
        if other is not spec and all(left.startswith(right) or right.startswith(left) for left, right in pairs):
            return False
    return True


def _literal_prefix(part: BoundKeyAttribute) -> str:
    return "" if part.template is None else part.template.literal_prefix


def _template_test(part: BoundKeyAttribute, prefix_only: bool) -> _Prefix | Callable[[Item], bool]:
    """Return a test that checks whether the key attribute `part` matches its template.

    If `prefix_only` is True, the test checks only the literal prefix.
    """
    attribute, template = part.attribute, part.template
    if template is None:
        code = part.type_code
        return lambda item: code in item.get(attribute, ())
    prefix, match = template.literal_prefix, template.match
    if prefix_only and prefix and template.fields:
        return _Prefix(attribute, prefix)

    def matches(item: Item) -> bool:
        text = item.get(attribute, {}).get("S")
        return text is not None and text.startswith(prefix) and match(text) is not None

    return matches
