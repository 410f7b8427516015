"""Forms made from the types of parameters: widgets, arguments, messages."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from keyplan import UNSET, Created, Entity, ItemKey, ItemWrite, KeyCondition, Table, Unset, each, item, key, pk
from keyplan.console.design.forms import ParameterFields, defaults, form_texts, parameters_of, read_form

app = Table("app", pk="PK", sk="SK")


class Color(Enum):
    RED = 1
    BLUE = 2


class Address(BaseModel):
    street: str
    number: int


@app.entity(key=key("A#{name}", "N#{number}"))
class Thing(Entity):
    name: str
    number: int
    color: Color = Color.RED
    day: date | None = None
    at: datetime | None = None
    price: Decimal = Decimal("1.5")
    size: Literal["s", "l"] = "s"
    done: bool = False
    words: list[str] = Field(default_factory=list)
    picture: bytes = b""
    home: Address | None = None
    reference: UUID | None = None
    created: datetime | None = Created()


@app.put(Thing)
def save(thing: Thing) -> ItemWrite:
    return item(thing)


@app.query(Thing)
def numbered(name: str, first: Annotated[int, Field(ge=1)] = 1, last: int = 9) -> KeyCondition:
    return pk(name=name).sk.between(number=(first, last))


@app.batch_get(Thing)
def several(name: str, numbers: list[int]) -> ItemKey:
    return item(name=name, number=each(numbers))


@app.update(Thing)
def change(name: str, number: int, day: date | Unset | None = UNSET, price: Decimal | Unset = UNSET) -> ItemWrite:
    return item(name=name, number=number).patch(day=day, price=price)


def arguments(pattern: Any, **fields: str) -> dict[str, Any]:
    """Return the arguments of a form without errors."""
    reading = read_form(parameters_of(pattern), fields)
    assert not reading.errors
    return reading.arguments


def errors(pattern: Any, fields: dict[str, str]) -> dict[str, str]:
    return read_form(parameters_of(pattern), fields).errors


def widgets(parameters: list[ParameterFields]) -> dict[str, str]:
    return {field.label: field.widget for parameter in parameters for field in parameter.inputs}


def test_each_type_has_its_widget_and_times_of_writes_have_none() -> None:
    assert widgets(parameters_of(save)) == {
        "name": "text", "number": "number", "color": "select", "day": "date", "at": "datetime-local", "price": "number",
        "size": "select", "done": "select", "words": "lines", "picture": "text", "home": "json", "reference": "text",
    }  # fmt: skip


def test_an_entity_is_read_from_its_fields() -> None:
    fields = {
        "name": "x", "number": "7", "color": "2", "day": "2026-01-31", "at": "2026-01-31T12:00:00", "price": "2.50",
        "size": "l", "done": "true", "words": "one\n\n two ", "picture": "AAE=", "home": '{"street": "S", "number": 1}',
        "reference": "00000000-0000-0000-0000-000000000001",
    }  # fmt: skip
    entity = arguments(save, **{f"thing.{name}": text for name, text in fields.items()})["thing"]
    assert entity == Thing(
        name="x", number=7, color=Color.BLUE, day=date(2026, 1, 31), at=datetime(2026, 1, 31, 12, tzinfo=UTC),
        price=Decimal("2.50"), size="l", done=True, words=["one", "two"], picture=b"\0\1",
        home=Address(street="S", number=1), reference=UUID(int=1),
    )  # fmt: skip


def test_empty_fields_are_defaults_or_no_value() -> None:
    entity = arguments(save, **{"thing.name": "x", "thing.number": "7"})["thing"]
    assert entity == Thing(name="x", number=7)


def test_arguments_fill_the_form_and_are_read_back_from_it() -> None:
    thing = Thing(name="x", number=7, day=date(2026, 1, 31), at=datetime(2026, 1, 31, tzinfo=UTC), words=["a", "b"])
    parameters = parameters_of(save)
    fields = form_texts(parameters, {"thing": thing})
    assert fields["thing.words"] == "a\nb"
    assert arguments(save, **fields)["thing"] == thing


def test_lists_of_values_are_typed_line_by_line() -> None:
    assert arguments(several, name="x", numbers="1\n2") == {"name": "x", "numbers": [1, 2]}


def test_defaults_of_parameters_are_shown_and_used() -> None:
    assert defaults(parameters_of(numbered)) == {"name": "", "first": "1", "last": "9"}
    assert arguments(numbered, name="x") == {"name": "x", "first": 1, "last": 9}


def test_a_patch_leaves_empty_fields_unchanged_and_null_removes_a_value() -> None:
    values = arguments(change, name="x", number="1", day="", price="")
    assert (values["day"], values["price"]) == (UNSET, UNSET)
    assert arguments(change, name="x", number="1", day="null")["day"] is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("name", " ", "Enter a value."),
        ("number", "seven", "valid integer"),
        ("color", "3", "Choose one of 1, 2."),
        ("day", "31.1.2026", "date"),
        ("at", "noon", "isoformat"),
        ("picture", "no base64!", "Enter base64."),
        ("home", '{"street": "S"}', "number: Field required"),
        ("reference", "x", "UUID"),
    ],
)
def test_a_wrong_value_is_reported_at_its_field(name: str, text: str, message: str) -> None:
    messages = errors(save, {"thing.name": "x", "thing.number": "7", f"thing.{name}": text})
    assert list(messages) == [f"thing.{name}"]
    assert message in messages[f"thing.{name}"]


def test_limits_of_a_parameter_are_checked() -> None:
    assert "greater than or equal to 1" in errors(numbered, {"name": "x", "first": "0"})["first"]
