"""Forms that are generated from the types of a pattern's parameters, and the conversion of submitted forms to
arguments.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Any, Final, Literal, get_args, get_origin

import orjson
from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError

from keyplan.console.frame import utc
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.fields.annotations import (
    UNSET,
    annotation_with_limits,
    plain_value,
    without_none,
    without_unset,
)
from keyplan.export.examples import arguments_of, fields_of_parameters

Widget = Literal["text", "number", "date", "datetime-local", "time", "select", "lines", "json"]
_REQUIRED: Final = object()
_TEXTS: Final = (str, bytes)
_ITEMS: Final = (str, int, float, Decimal, date, time, bytes, Enum)
"""The types whose values fit on one line. A list of such values can be entered with one value per line."""


@dataclass(frozen=True)
class Input:
    """A form field for a parameter of a pattern, or for one field of a parameter whose type is a model."""

    name: str
    """The name of the form field: the parameter name, or parameter.field for a field of a model."""
    label: str
    annotation: Any
    widget: Widget
    type: str
    """The type of the form field as shown to users, such as list[str]."""
    choices: Mapping[str, Any]
    """The values that a selection list offers, by the text that it shows."""
    default: Any = _REQUIRED
    may_be_none: bool = False
    may_be_unset: bool = False
    """True if an empty input means that a patch leaves the model field unchanged."""
    example: str = ""

    @property
    def is_required(self) -> bool:
        """Return True if the form field cannot be empty."""
        return self.default is _REQUIRED and not self.may_be_none and not self.may_be_unset

    @property
    def hint(self) -> str:
        """Return a hint about the input that the form field accepts."""
        format_hint = {"lines": "one value per line", "json": "as JSON", "datetime-local": "UTC"}.get(self.widget, "")
        if self.may_be_unset:
            empty_hint = "empty: unchanged; null: no value" if self.may_be_none else "empty: unchanged"
        elif self.may_be_none:
            empty_hint = "empty: no value"
        else:
            empty_hint = ""
        return "; ".join(part for part in (self.type, format_hint, empty_hint) if part)


@dataclass(frozen=True)
class ParameterFields:
    """A parameter of a pattern and its form field. A parameter whose type is a model has a form field for each model
    field.
    """

    name: str
    inputs: tuple[Input, ...]
    model: type[BaseModel] | None = None


@dataclass(frozen=True)
class FormReading:
    """The arguments and error messages that result from a submitted form."""

    arguments: dict[str, Any]
    errors: dict[str, str]
    """The error messages, by form field name. Empty if all arguments are valid."""


def parameters_of(pattern: Pattern[..., Any]) -> list[ParameterFields]:
    """Return the parameters of a pattern with their form fields."""
    stored = fields_of_parameters(pattern)
    try:
        examples: Mapping[str, Any] = arguments_of(pattern)
    except Exception:  # noqa: BLE001 - an example is only a placeholder, and types of a design may refuse anything
        examples = {}
    parameters = []
    for name, param in pattern.parameters.items():
        field = stored.get(name)
        annotation = param._annotation if param._annotation is not None else field.annotation if field else str
        default = pattern._defaults.get(name, _REQUIRED)
        if name in pattern.optional and default is _REQUIRED:
            default = None
        parameters.append(_parameter(name, annotation, default, examples.get(name)))
    return parameters


def _parameter(name: str, annotation: Any, default: Any, example: Any) -> ParameterFields:
    bare, optional = without_none(without_unset(annotation))
    if not (isinstance(bare, type) and issubclass(bare, BaseModel)) or optional:
        return ParameterFields(name, (_input(name, name, annotation, default, example),))
    spec = vars(bare).get("__keyplan__")
    write_time_fields = (
        {stored.name for stored in spec.fields.values() if stored.write_time} if spec is not None else set()
    )
    inputs = [
        _input(
            f"{name}.{field}",
            field,
            annotation_with_limits(info),
            _default_of(info, is_write_time=field in write_time_fields),
            getattr(example, field, None),
        )
        for field, info in bare.model_fields.items()
        if field not in write_time_fields
    ]
    return ParameterFields(name, tuple(inputs), bare)


def _default_of(info: Any, *, is_write_time: bool) -> Any:
    if is_write_time or info.is_required():
        return _REQUIRED
    if info.default_factory is None:
        return info.default
    return None if info.default_factory_takes_validated_data else info.default_factory()


def _input(name: str, label: str, annotation: Any, default: Any, example: Any) -> Input:
    type_ = without_unset(annotation)
    bare, optional = without_none(type_)
    widget, choices = _widget(bare)
    return Input(
        name,
        label,
        type_,
        widget,
        _type_text(bare),
        choices,
        _REQUIRED if default is UNSET else default,
        may_be_none=optional,
        may_be_unset=type_ is not annotation or default is UNSET,
        example="" if example is None or widget == "select" else _text_of(widget, type_, example),
    )


def _widget(bare: Any) -> tuple[Widget, Mapping[str, Any]]:
    origin, parts = get_origin(bare) or bare, get_args(bare)
    if origin is Literal:
        return "select", {str(plain_value(value)): value for value in parts}
    if origin in {list, set, frozenset} or (origin is tuple and Ellipsis in parts):
        element, _ = without_none(parts[0]) if parts else (str, False)
        element = get_origin(element) or element
        is_line = element is Literal or (isinstance(element, type) and issubclass(element, _ITEMS))
        return ("lines", {}) if is_line else ("json", {})
    if not isinstance(origin, type):
        return "json", {}
    if issubclass(origin, Enum):
        return "select", {str(member.value): member for member in origin}
    if issubclass(origin, bool):
        return "select", {"true": True, "false": False}
    for kind, widget in _BY_TYPE:
        if issubclass(origin, kind):
            return widget, {}
    return ("json", {}) if parts or _is_structure(origin) else ("text", {})


_BY_TYPE: Final[tuple[tuple[type, Widget], ...]] = (
    (int, "number"), (float, "number"), (Decimal, "number"), (datetime, "datetime-local"), (date, "date"),
    (time, "time"), (str, "text"), (bytes, "text"),
)  # fmt: skip


def _is_structure(kind: type) -> bool:
    return issubclass(kind, (BaseModel, dict, list, tuple, set)) or bool(getattr(kind, "__annotations__", None))


def _type_text(bare: Any) -> str:
    if get_origin(bare) is Literal:
        return ""
    parts = get_args(bare)
    name = getattr(get_origin(bare) or bare, "__name__", str(bare))
    if isinstance(bare, type) and issubclass(bare, Enum):
        return ""
    inner = ", ".join("..." if part is Ellipsis else _type_text(without_none(part)[0]) for part in parts)
    return f"{name}[{inner}]" if inner else name


# What a person typed.


def read_form(parameters: list[ParameterFields], fields: Mapping[str, str]) -> FormReading:
    """Convert a submitted form to arguments and error messages. `fields` contains the submitted texts, by form field
    name.
    """
    arguments: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for parameter in parameters:
        values: dict[str, Any] = {}
        for field in parameter.inputs:
            try:
                values[field.label] = _value(field, fields.get(field.name, ""))
            except ValueError as error:
                errors[field.name] = _message(error)
        if parameter.model is None:
            arguments.update(values)
        elif not any(input_field.name in errors for input_field in parameter.inputs):
            _build(parameter, parameter.model, values, arguments, errors)
    return FormReading(arguments, errors)


def _build(
    parameter: ParameterFields,
    model: type[BaseModel],
    values: dict[str, Any],
    arguments: dict[str, Any],
    errors: dict[str, str],
) -> None:
    members = {name: value for name, value in values.items() if value is not UNSET and value is not _REQUIRED}
    try:
        arguments[parameter.name] = model.model_validate(members, by_name=True)
    except ValidationError as error:
        names = {input_field.label for input_field in parameter.inputs}
        for problem in error.errors():
            field = str(problem["loc"][0]) if problem["loc"] else ""
            name = f"{parameter.name}.{field}" if field in names else parameter.inputs[0].name
            errors.setdefault(name, problem["msg"])


def _value(field: Input, text: str) -> Any:
    """Convert the text that a user entered in a form field to a value. Raises ValueError if the text is invalid."""
    if not text.strip():
        if field.may_be_unset:
            return UNSET
        if field.default is not _REQUIRED:
            return field.default
        if field.may_be_none:
            return None
        if field.widget == "lines":
            return TypeAdapter(field.annotation).validate_python([])
        raise ValueError("Enter a value.")
    if field.may_be_unset and field.may_be_none and text.strip() == "null":
        return None
    if field.widget == "select":
        if text not in field.choices:
            raise ValueError(f"Choose one of {', '.join(field.choices)}.")
        return field.choices[text]
    return _parsed(field, text)


def _parsed(field: Input, text: str) -> Any:
    bare, _ = without_none(field.annotation)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(field.annotation)
    except PydanticUserError:  # a class that pydantic does not know: only its attributes matter
        return _namespace(orjson.loads(text))
    if field.widget == "json":
        return adapter.validate_json(text)
    if field.widget == "lines":
        element = get_args(bare)[0] if get_args(bare) else str
        return adapter.validate_python([_scalar(element, line.strip()) for line in text.splitlines() if line.strip()])
    return adapter.validate_python(_scalar(bare, text if field.widget == "text" else text.strip()))


def _scalar(annotation: Any, text: str) -> Any:
    """Convert text to a value that pydantic accepts for the type `annotation`. Raises ValueError if the text is
    invalid.
    """
    bare, _ = without_none(annotation)
    if isinstance(bare, type) and issubclass(bare, bytes):
        try:
            return b64decode(text.strip(), validate=True)
        except Base64Error:
            raise ValueError("Enter base64.") from None
    if isinstance(bare, type) and issubclass(bare, datetime):
        return utc(text)
    if isinstance(bare, type) and issubclass(bare, Enum):
        return next((member for member in bare if str(member.value) == text), text)
    return text


def _namespace(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{name: _namespace(part) for name, part in value.items()})
    return [_namespace(part) for part in value] if isinstance(value, list) else value


def _message(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        problem = error.errors()[0]
        location = ".".join(map(str, problem["loc"]))
        return f"{location}: {problem['msg']}" if location else str(problem["msg"])
    return str(error)


# Values as text, to fill a form.


def form_texts(parameters: list[ParameterFields], arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of each form field that represents the given arguments, by form field name."""
    return dict(_texts(parameters, arguments))


def _texts(parameters: list[ParameterFields], arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for parameter in parameters:
        if parameter.name in arguments:
            value = arguments[parameter.name]
            for field in parameter.inputs:
                yield (
                    field.name,
                    text_of(field, value if parameter.model is None else getattr(value, field.label, None)),
                )


def text_of(field: Input, value: Any) -> str:
    """Return a value as text, in the format that the form field accepts."""
    if value is None or value is UNSET or value is _REQUIRED:
        return ""
    return _text_of(field.widget, field.annotation, value)


def defaults(parameters: list[ParameterFields]) -> dict[str, str]:
    """Return the text of each form field that represents the default arguments, by form field name."""
    return {field.name: text_of(field, field.default) for parameter in parameters for field in parameter.inputs}


def _text_of(widget: Widget, annotation: Any, value: Any) -> str:
    if widget == "json":
        return _json(annotation, value)
    if widget == "lines":
        return "\n".join(_line(part) for part in value) if isinstance(value, (list, tuple, set, frozenset)) else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if widget == "datetime-local" and isinstance(value, datetime):
        instant = value.astimezone(UTC) if value.tzinfo is not None else value
        return instant.replace(tzinfo=None).isoformat(timespec="seconds")
    return _line(value)


def _line(value: Any) -> str:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, (date, time)):
        return value.isoformat()
    return str(plain_value(value))


def _json(annotation: Any, value: Any) -> str:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        return adapter.dump_json(value, indent=2, warnings=False, exclude_none=True).decode()
    except (PydanticUserError, ValueError, TypeError):
        return orjson.dumps(vars(value) if hasattr(value, "__dict__") else value, default=str).decode()
