"""Attributes of stand-ins: only those that no value of the annotated class can have are refused."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Generic, NewType, Optional, Protocol, TypedDict, TypeVar

import pydantic
import pydantic.dataclasses
import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, computed_field

from keyplan import DesignError, Entity, F, ItemWrite, Table, Unset, WriteCall, each, item, key, transaction
from keyplan.design.parameters import Param, attribute_of, substitute

T = TypeVar("T")


class Venue(BaseModel):
    branch: str
    kind: ClassVar[str] = "hall"


class Course(BaseModel):
    course: str = pydantic.Field(alias="courseId")
    venue: Venue | None = None
    notes: dict[str, Any] = {}
    owner: Any = None
    _cache: str = ""

    @property
    def label(self) -> str:
        return self.course

    @computed_field  # type: ignore[prop-decorator]
    @property
    def size(self) -> int:
        return 1

    @cached_property
    def slug(self) -> str:
        return self.course


class Base(BaseModel):
    course: str


class Special(Base):
    teacher: str


class Marker(BaseModel):
    """Has no fields: only its subclasses do."""


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    course: str


class Dynamic(BaseModel):
    course: str

    def __getattr__(self, name: str) -> Any:
        return name


class Recorded(BaseModel):
    course: str

    def __getattribute__(self, name: str) -> Any:
        return super().__getattribute__(name)


class Box(BaseModel, Generic[T]):
    value: T


@dataclass
class Change:
    course: str
    scale: InitVar[int] = 1
    total: int = field(init=False, default=0)
    unit: ClassVar[str] = "places"


@dataclass
class Computed:
    total: int

    def __post_init__(self) -> None:
        self.doubled = self.total * 2


@dataclass
class Parsed:
    total: int

    @classmethod
    def of(cls, text: str) -> Parsed:
        parsed = cls(int(text))
        parsed.text = text  # type: ignore[attr-defined]
        return parsed


@dataclass(init=False)
class Initialized:
    total: int

    def __init__(self, total: int) -> None:
        self.doubled = total * 2
        self.total = total


@dataclass(frozen=True)
class Pair(Generic[T]):
    first: T


@dataclass(frozen=True)
class Triple(Pair[str]):
    third: str


class Settable(BaseModel):
    course: str

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value


@dataclass(frozen=True, slots=True)
class Line:
    sku: str


class Plain:
    def __init__(self) -> None:
        self.course = ""


@dataclass
class Derived(Plain):
    free: int


@dataclass
class Stated:
    sku: str


class Undecorated(Stated):
    """A subclass of a dataclass that can have other attributes."""


@dataclass
class Loose:
    course: str

    def __getattr__(self, name: str) -> Any:
        return name


@pydantic.dataclasses.dataclass(config=ConfigDict(extra="allow"))
class OpenDataclass:
    course: str


@pydantic.dataclasses.dataclass
class Part:
    sku: str


class Named(Protocol):
    course: str


class Row(TypedDict):
    course: str


CourseAlias = NewType("CourseAlias", Course)


@pytest.mark.parametrize(
    ("annotation", "path"),
    [
        (Course, "course"),
        (Course, "label"),
        (Course, "size"),
        (Course, "slug"),
        (Course, "model_dump"),
        (Course, "venue.branch"),
        (Course, "venue.kind"),
        (Course, "notes.anything"),
        (Course, "owner.anything"),
        (Course, "label.anything"),
        (Course | Venue, "branch"),
        (Course | Unset, "course"),
        (Base, "teacher"),
        (Marker, "anything"),
        (BaseModel, "anything"),
        (Entity, "anything"),
        (Open, "anything"),
        (Dynamic, "anything"),
        (Recorded, "anything"),
        (Box[int], "value"),
        (Box[Venue], "value.branch"),
        (Box, "value.anything"),
        (Change, "course"),
        (Change, "total"),
        (Change, "scale"),
        (Change, "unit"),
        (Computed, "doubled"),
        (Initialized, "doubled"),
        (Parsed, "text"),
        (Pair, "third"),
        (Pair[str], "first"),
        (Triple, "first"),
        (Settable, "anything"),
        (Line, "sku"),
        (Line, "sku.anything"),
        (Derived, "course"),
        (Undecorated, "anything"),
        (Stated, "anything"),
        (Loose, "anything"),
        (OpenDataclass, "anything"),
        (Plain, "anything"),
        (Named, "anything"),
        (Row, "anything"),
        (dict[str, str], "anything"),
        (list[Course], "anything"),
        (str, "anything"),
        (Any, "anything"),
        (T, "anything"),
        ("Course", "anything"),
        (None, "anything"),
    ],
)
def test_an_attribute_that_a_value_may_have_is_accepted(annotation: Any, path: str) -> None:
    param = Param("given", annotation)
    for name in path.split("."):
        param = getattr(param, name)
    assert repr(param) == f"given.{path}"


@pytest.mark.parametrize(
    ("annotation", "path", "fix"),
    [
        (Course, "corse", "use given.course"),
        (Course, "courseId", "use given.course"),
        (Optional[Course], "corse", "use given.course"),  # noqa: UP045 - both notations are accepted
        (Course | None, "venue.brnch", "use given.venue.branch"),
        (Course | Unset, "corse", "use given.course"),
        (Annotated[Course, AfterValidator(lambda course: course)], "corse", "use given.course"),
        (CourseAlias, "corse", "use given.course"),
        (Special, "techer", "use given.teacher"),
        (Base, "anything", "use one of its fields: course"),
        (Box[Venue], "value.brnch", "use given.value.branch"),
        (Change, "corse", "use given.course"),
        (Line, "skus", "use given.sku"),
        (Triple, "frist", "use given.first"),
        (Part, "skus", "use given.sku"),
    ],
)
def test_an_attribute_that_no_value_has_is_refused_with_similar_fields(annotation: Any, path: str, fix: str) -> None:
    *parents, name = path.split(".")
    param = Param("given", annotation)
    for parent in parents:
        param = getattr(param, parent)
    with pytest.raises(DesignError, match=f"the pattern reads given.{path}, but .* has no field {name}") as refused:
        getattr(param, name)
    assert (refused.value.fix, refused.value.code) == (fix, "KP201")


def test_private_attributes_are_not_fields() -> None:
    with pytest.raises(AttributeError):
        Param("given", Course)._cache  # noqa: B018 - the look-up is the point


def test_attributes_that_the_package_reads_are_not_checked() -> None:
    assert repr(attribute_of(Param("given", Base), "version")) == "given.version"
    assert attribute_of(Venue(branch="north"), "branch") == "north"


def test_an_item_can_be_annotated_as_a_base_class_without_its_version() -> None:
    app = Table("app", pk="PK")

    class Document(Entity):
        title: str
        text: str = ""

    @app.entity(key=key("DOCUMENT#{title}"), version="version")
    class Page(Document):
        version: int = 0

    @app.replace(Page)
    def save(page: Document) -> ItemWrite:
        return item(page)

    assert repr(save.plan.version) == "page.version"


def test_a_step_of_a_transaction_reads_attributes_of_list_elements() -> None:
    app = Table("app", pk="PK")

    @app.entity(key=key("STOCK#{sku}"))
    class Stock(Entity):
        sku: str
        count: int

    @app.update(Stock)
    def take(line: Line) -> ItemWrite:
        return item(sku=line.sku).subtract(count=1).condition(F.count >= 1)

    @transaction()
    def order(lines: list[Line]) -> list[WriteCall[Stock]]:
        return [take(each(lines))]

    step = order.steps[0]
    assert repr(substitute(take.parameters["line"].sku, step.call.arguments)) == "each(lines.sku)"
