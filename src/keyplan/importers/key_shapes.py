"""Functions that detect the form of keys in sample items: their literal words, separators and values.

For example, USER#17#ORDER#3 consists of the words USER and ORDER, the separator #, and two values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from keyplan.importers.schemas import Item

_SEPARATORS = ("#", "|", ":", "~")
"""The separators between the parts of a key, in order from the most to the least common."""
_SEPARATOR = _SEPARATORS[0]
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]*")
_PHRASE = re.compile(r"[A-Za-z][A-Za-z _-]*")
_NUMBERED = re.compile(r"([A-Za-z]+[-_ ])\d.*", re.DOTALL)
"""A regular expression for a word followed by a value that starts with a digit, such as Month-01-2018."""
_DATE = r"\d{4}-\d\d-\d\d"
_SUFFIXES = ((re.compile(_DATE), "date"), (re.compile(rf"{_DATE}T[\d:.]+(Z|[+-]\d\d:?\d\d)?"), "at"))
"""Pairs of a regular expression for values, and the suffix for the name of a field with such values."""
_DISTINCTIVE_LENGTH = 6
"""The minimum length of a string that is unlikely to occur in two places by chance."""
_KINDS = ("entitytype", "entity", "itemtype", "recordtype", "type", "kind", "et", "edbe")
"""The lowercase names of attributes that contain the kind of an item, in order from the most to the least explicit."""
VALUE = "{}"


@dataclass(frozen=True)
class Shape:
    """The form that the values of a key attribute have in common.

    `words` contains the literal words in the key, and None for each part that is a value.
    """

    words: tuple[str | None, ...]
    values: tuple[tuple[str, ...], ...]
    """For each value in the key, a tuple of its text in each sample item."""
    value_names: tuple[str, ...]
    """The name of each value in the key. It is taken from the source, or derived from the word before the value.

    The name is empty if neither is possible.
    """
    separator: str = _SEPARATOR

    @property
    def text(self) -> str:
        """The form of the key as text, with {} for each value."""
        return self.separator.join(VALUE if word is None else word for word in self.words)


def shape_of(texts: Sequence[str], alias: str = "") -> Shape | None:
    """Return the form that keys have in common, or None if they have no common form.

    `alias` is the name of the key attribute in the source.
    """
    if not texts or any(brace in text for text in texts for brace in "{}"):
        return None
    separator = _separator(texts)
    split_texts = [text.split(separator) for text in texts]
    names = alias.split(separator)
    size = len(split_texts[0])
    if any(len(parts) != size for parts in split_texts) or (size == 1 and not _is_one_word(texts, alias)):
        return None
    names = names if len(names) == size else [""] * size
    columns = [tuple(parts[index] for parts in split_texts) for index in range(size)]
    if any(_is_ambiguous(columns[index], names[index]) for index in range(1, size - 1)):
        return None
    has_variants = len(set(texts)) > 1
    words = tuple(_word(columns, index, names[index], has_variants=has_variants) for index in range(size))
    values = tuple(column for column, word in zip(columns, words, strict=True) if word is None)
    if words[0] is None or not any(words) or any(not value for column in values for value in column):
        return None
    value_names = tuple(
        _value_name(words, index, names[index], columns[index]) for index in range(size) if words[index] is None
    )
    aliases = [name for name in alias.split(separator) if name]
    if len(aliases) == len(values):  # an alias that names only the values: SubId#SKU of SUB#17#SKU#99
        value_names = tuple(map(_without_brackets, aliases))
    return Shape(words, values, value_names, separator)


def _separator(texts: Sequence[str]) -> str:
    """Return the first separator that follows a word in every key, or "#" if none does."""
    for separator in _SEPARATORS:
        if all(_is_prefixed(text, separator) for text in texts):
            return separator
    return _SEPARATOR


def _is_prefixed(text: str, separator: str) -> bool:
    """Return True if a key consists of a word, a separator and more text. Return False for a URL such as
    https://example.org.
    """
    word, found_separator, rest = text.partition(separator)
    return bool(found_separator) and (
        separator == _SEPARATOR or (bool(_WORD.fullmatch(word)) and not rest.startswith("/"))
    )


def _is_ambiguous(column: Sequence[str], name: str) -> bool:
    """Return True if it is unclear whether a part in the middle of a key is a literal word or a value.

    An example is the part "open" in STATUS#open#17.
    """
    text = column[0]
    is_word = len(set(column)) == 1 and _WORD.fullmatch(text) is not None
    return is_word and not text.isupper() and not name


def _is_one_word(texts: Sequence[str], alias: str) -> bool:
    """Return True if all keys are the same single word.

    The word must be the alias of the attribute, or an uppercase word that occurs in several items.
    """
    return len(set(texts)) == 1 and (texts[0] == alias or (len(texts) > 1 and texts[0].isupper()))


def _word(columns: Sequence[tuple[str, ...]], index: int, name: str, *, has_variants: bool) -> str | None:
    """Return the literal word at the index `index` of a key's parts, or None if this part is a value.

    `columns` contains the texts of each part in the sample items, and `name` is the part's name in the alias, or "".
    `has_variants` is True if the keys are not all equal.
    """
    column = columns[index]
    if len(set(column)) > 1:
        return None
    text = column[0]
    if text == "":
        return text
    if index and name and text != name and not text.isupper():
        return None  # the alias names a value
    is_last = index == len(columns) - 1
    is_probable_word = _WORD.fullmatch(text) is not None and (not is_last or has_variants or len(columns) == 1)
    return text if text == name or is_probable_word else None


def _value_name(words: Sequence[str | None], index: int, name: str, column: Sequence[str]) -> str:
    """Return the name of a value in a key, or "" if a name cannot be derived.

    This is the value's alias `name`, if it is not empty. Otherwise, it is the literal word before the value with a
    suffix, such as user_id, or order_date if the values are dates.
    """
    if name:
        return _without_brackets(name)
    suffix = next((suffix for pattern, suffix in _SUFFIXES if all(map(pattern.fullmatch, column))), "id")
    word_before = words[index - 1] if suffix == "id" else next((word for word in reversed(words[:index]) if word), None)
    if not word_before:
        return ""
    return suffix if word_before.lower() == suffix else f"{word_before.lower()}_{suffix}"


def _without_brackets(name: str) -> str:
    return name.strip("<>{}[]$ ")


def is_distinctive(column: Sequence[str]) -> bool:
    """Return True if these values are unlikely to occur elsewhere by chance. An equal value then probably refers to the
    same thing.
    """
    return len(set(column)) > 1 or len(column[0]) >= _DISTINCTIVE_LENGTH


# Kinds of items.


@dataclass(frozen=True)
class ItemKind:
    """A group of sample items of the same kind, whose keys have the same form."""

    name: str
    """The name of this kind of item, taken from an attribute that contains the kind, or from the words in the keys.

    The name is empty if neither is possible.
    """
    samples: tuple[Item, ...]
    templates: Mapping[str, str]
    """The key templates, by attribute, that can be found only by a comparison with the keys of other kinds."""


_Signature = tuple[tuple[str, ...], ...]


def item_kinds(samples: Sequence[Item], key: Sequence[str]) -> list[ItemKind]:
    """Group sample items by kind.

    Items of the same kind have keys of the same form. If an attribute contains the kind of an item, items of the same
    kind also have the same value in this attribute.
    """
    constants = [_constants(samples, attribute, key) for attribute in key]
    names = _kind_names(samples, key)
    groups: dict[tuple[str, _Signature], list[Item]] = {}
    for number, item in enumerate(samples):
        texts = [item.get(attribute, {}).get("S") for attribute in key]
        parts = tuple(_parts(text, constant_words) for text, constant_words in zip(texts, constants, strict=True))
        groups.setdefault((names[number] if names else "", parts), []).append(item)
    has_variants = [len({signature[index] for _, signature in groups}) > 1 for index in range(len(key))]
    kind_names = _unique_names([(name, _words(signature)) for name, signature in groups])
    return [
        ItemKind(
            name,
            tuple(items),
            {
                attribute: template
                for attribute, parts, differs in zip(key, signature, has_variants, strict=True)
                if differs and (template := _template(items, attribute, parts))
            },
        )
        for name, ((_, signature), items) in zip(kind_names, groups.items(), strict=True)
    ]


def _kind_names(samples: Sequence[Item], key: Sequence[str]) -> list[str]:
    """Return the kind of each sample item, read from an attribute that contains it.

    Return an empty list if no attribute contains the kind.
    """
    if len(samples) < 2:
        return []
    attributes = [name for name in samples[0] if name not in key]
    for word in _KINDS:
        for attribute in attributes:
            if re.sub(r"[^a-z]", "", attribute.lower()) != word:
                continue
            texts = [item.get(attribute, {}).get("S") for item in samples]
            if all(isinstance(text, str) and text for text in texts) and 1 < len(set(texts)) < len(texts):
                return [str(text) for text in texts]
    return []


def _constants(samples: Sequence[Item], attribute: str, key: Sequence[str]) -> frozenset[str]:
    """Return the values of a sort key that are literal words, because they occur in several partitions.

    A value is only a literal word if all items with this value have the same set of attributes. Other values are data,
    such as the names of people.
    """
    if attribute != key[-1] or len(key) == 1:
        return frozenset()
    attribute_sets: dict[str, set[frozenset[str]]] = {}
    partitions: Counter[str] = Counter()
    for item in samples:
        text = item.get(attribute, {}).get("S")
        if isinstance(text, str) and _PHRASE.fullmatch(text):
            attribute_sets.setdefault(text, set()).add(frozenset(item))
            partitions[text] += 1
    counts = Counter(attributes for known_sets in attribute_sets.values() for attributes in known_sets)
    return frozenset(
        text
        for text, known_sets in attribute_sets.items()
        if partitions[text] > 1 and all(counts[attributes] == 1 for attributes in known_sets)
    )


def _parts(text: object, constants: frozenset[str]) -> tuple[str, ...]:
    """Return a tuple that contains the separator of a key, followed by the parts of the key, with {} for each value.

    A key in `constants` is a single literal word.
    """
    if not isinstance(text, str):
        return ("", VALUE)
    if text in constants or (_WORD.fullmatch(text) and text.isupper()):
        return ("", text)
    separator = next((sign for sign in _SEPARATORS if _is_prefixed(text, sign)), "")
    if not separator:
        numbered = _NUMBERED.fullmatch(text)
        return (numbered[1][-1], numbered[1][:-1], VALUE) if numbered else ("", VALUE)
    first, *rest = text.split(separator)
    if first and not _WORD.fullmatch(first):
        return ("", VALUE)
    parts = [first]
    for index, part in enumerate(rest):
        follows_value = parts[-1] in {VALUE, ""}
        is_word = _WORD.fullmatch(part) is not None and (part.isupper() or index < len(rest) - 1)
        parts.append(part if part == "" or (follows_value and is_word) else VALUE)
    return (separator, *parts)


def _words(signature: _Signature) -> tuple[tuple[str, bool], ...]:
    """Return, for each key attribute, its last literal word and whether a value follows the word.

    For a key attribute without a literal word, the result contains "" and False.
    """
    last_words = []
    for _, *parts in signature:
        words = [index for index, part in enumerate(parts) if part not in {VALUE, ""}]
        last_words.append((parts[words[-1]], VALUE in parts[words[-1] :]) if words else ("", False))
    return tuple(last_words)


def _unique_names(kinds: Sequence[tuple[str, tuple[tuple[str, bool], ...]]]) -> list[str]:
    """Return a unique name for each kind of item, chosen from its candidate names.

    A name that is the first candidate of another kind is avoided if possible. If all candidates of a kind are in use, a
    number is appended to the last one.
    """
    candidates = [list(_candidates(name, words)) for name, words in kinds]
    used_names: list[str] = []
    for number, own_candidates in enumerate(candidates):
        other_names = [other_candidates[0] for index, other_candidates in enumerate(candidates) if index != number]
        free = [name for name in own_candidates if name not in used_names]
        best = next((name for name in free if name not in other_names), free[0] if free else "")
        number_suffix = 2
        while best in used_names:
            best = f"{own_candidates[-1]} {number_suffix}"
            number_suffix += 1
        used_names.append(best)
    return used_names


def _candidates(name: str, words: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """Yield possible names for the entity of a kind of item.

    `name` is the kind in the items, or "". `words` contains the word in each key attribute, and whether a value follows
    the word. For example, yield ORDER for the keys USER#1 and ORDER#2, or USER for the keys USER#1 and PROFILE.
    """
    texts = [word.strip("-_ ").lower().replace("-", " ").replace("_", " ") for word, _ in words]
    if name:
        yield name
    if texts[-1] and (words[-1][1] or not texts[0]):
        yield texts[-1]
    elif texts[0]:
        yield texts[0]
    distinct_texts = list(dict.fromkeys(text for text in ([name] if name else []) + texts if text))
    yield " ".join(distinct_texts) if distinct_texts else "item"


def _template(items: Sequence[Item], attribute: str, parts: Sequence[str]) -> str:
    """Return the template of a key that looks like a plain value, such as Month-01-2018 or a single word.

    Return "" in three cases: the form can be derived from the items alone, the key contains no literal word, or a value
    in the key does not follow a word.
    """
    separator, *words = parts
    texts = [str(item.get(attribute, {}).get("S")) for item in items]
    if shape_of(texts) is not None or not any(word not in {VALUE, ""} for word in words):
        return ""
    template_parts = list(words)
    for index, word in enumerate(words):
        if word == VALUE:
            word_before = re.sub(r"\W+", "_", words[index - 1]).strip("_").lower() if index else ""
            if not word_before or words[index - 1] == VALUE:
                return ""
            field = f"{{{word_before}_id}}"
            number_suffix = 2
            while field in template_parts:  # another value follows the same word
                field = f"{{{word_before}_id_{number_suffix}}}"
                number_suffix += 1
            template_parts[index] = field
    return separator.join(template_parts)
