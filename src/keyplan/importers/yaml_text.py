"""YAML loader that supports the short forms of CloudFormation functions, such as !Ref, !Sub and !GetAtt.

Each function has a full form, and a short form as a YAML tag. Source: CloudFormation User Guide, "Intrinsic function
reference" (forms) and "CloudFormation quotas" (a template can be up to 1 MB).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from keyplan.importers.nodes import ImportSourceError

try:
    import yaml
except ModuleNotFoundError as missing:
    raise ImportSourceError("PyYAML is needed to read YAML: install keyplan[import], or pass JSON") from missing

_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_WITHOUT_PREFIX = frozenset({"Ref", "Condition"})
_MAX_VALUES = 1_000_000
"""The maximum number of values in a document. It exceeds the size of every valid template, and limits the expansion of
nested aliases.
"""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML ships no types
    """YAML loader for plain values and CloudFormation functions.

    Values that look like dates are loaded as strings, because they can be names of tables or attributes.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - as the base class has it
        first: [(tag, pattern) for tag, pattern in patterns_by_tag if tag != _TIMESTAMP]
        for first, patterns_by_tag in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def get_single_node(self) -> Any:
        """Return the root node of the document. Raises ComposerError if the document has too many values, with aliases
        expanded.
        """
        node = super().get_single_node()
        if node is not None and _size(node, {}) > _MAX_VALUES:
            raise yaml.composer.ComposerError(None, None, f"it has more than {_MAX_VALUES:,} values", node.start_mark)
        return node


def _size(node: Any, sizes: dict[int, int]) -> int:
    """Return the number of values in a node. An alias is counted each time it is used."""
    if id(node) not in sizes:
        sizes[id(node)] = 1
        parts = [] if isinstance(node, yaml.ScalarNode) else node.value
        if isinstance(node, yaml.MappingNode):
            parts = [part for pair in parts for part in pair]
        sizes[id(node)] += sum(_size(part, sizes) for part in parts)
    return sizes[id(node)]


def _function(loader: _Loader, tag: str, node: yaml.Node) -> dict[str, Any]:
    """Return the full form of a CloudFormation function from its short form, such as {"Ref": name} for !Ref name."""
    name = tag if tag in _WITHOUT_PREFIX else f"Fn::{tag}"
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        if tag == "GetAtt":
            value = str(value).split(".", 1)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = _mapping(loader, node)
    return {name: value}


def _mapping(loader: _Loader, node: Any) -> dict[Any, Any]:
    """Return the mapping in a YAML node. Raises an error for a duplicate key, unless it overrides a key from `<<`."""
    own_ids = {id(key_node) for key_node, _ in node.value}
    loader.flatten_mapping(node)
    mapping: dict[Any, Any] = {}
    keys: set[Hashable] = set()
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, Hashable):
            raise yaml.constructor.ConstructorError(None, None, "a mapping key is not a scalar", key_node.start_mark)
        if key in keys:
            raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", key_node.start_mark)
        if id(key_node) in own_ids:
            keys.add(key)
        mapping[key] = loader.construct_object(value_node, deep=True)
    return mapping


def _integer(loader: _Loader, node: yaml.Node) -> int:
    """Return the integer in a YAML node. Raises ValueError if the number has too many decimal digits.

    Numbers in 0x and 0b notation are also checked.
    """
    number: int = loader.construct_yaml_int(node)
    str(number)
    return number


_Loader.add_multi_constructor("!", _function)
_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def load(name: str, text: str) -> Any:
    """Load a YAML document and return its value. `name` is the name of the file for error messages.

    Raises ImportSourceError if the text is not valid YAML.
    """
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as error:
        position = getattr(error, "problem_mark", None)
        location = f" (line {position.line + 1}, column {position.column + 1})" if position is not None else ""
        problem = " ".join(str(getattr(error, "problem", None) or error).split())
        raise ImportSourceError(f"{name} is not YAML: {problem}{location}") from None
    except ValueError as error:  # an invalid number such as 0o9, or too many digits
        raise ImportSourceError(f"{name} is not YAML: {error}") from None
