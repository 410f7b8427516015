"""Generated values: of nested types, within constraints, and from the examples in a design."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from enum import Enum
from typing import Annotated, Any, Self

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

from keyplan.verify.values import SampleError, ValueGenerator

NOW_S = 1_767_225_600.0
SLUG = r"^[a-z0-9]+(-[a-z0-9]+)*$"
Slug = Annotated[str, StringConstraints(pattern=SLUG, max_length=12)]


class Colour(Enum):
    RED = "r"
    BLUE = "b"
    GREEN = "g"


class Answer(BaseModel):
    """Its words are counted: no two values drawn apart agree."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        json_schema_extra={"examples": [{"text": "one two", "wordCount": 2}, {"text": "three", "word_count": 1}]},
    )
    text: str
    word_count: int

    @model_validator(mode="after")
    def _counted(self) -> Self:
        if self.word_count != len(self.text.split()):
            raise ValueError("the words are others")
        return self


class Sheet(BaseModel):
    slugs: tuple[Slug, ...] = Field(min_length=2, max_length=4)
    colours: tuple[Colour, ...] = Field(min_length=3, max_length=3)
    answers: tuple[Answer, ...] = Field(max_length=2)
    by_name: Mapping[Slug, list[Answer]]
    pair: tuple[int, Annotated[str, Field(examples=["only"])]]
    either: Annotated[int, Field(ge=1, le=3)] | Slug | None
    many: Sequence[bool]
    due: date = Field(examples=["2026-03-01"])


class Tree(BaseModel):
    name: str
    children: list[Tree] = []
    twin: Tree | None = None


def samples(seed: int = 0) -> ValueGenerator:
    return ValueGenerator(seed, NOW_S)


def test_generated_texts_match_their_regex_even_if_truncated() -> None:
    generator = samples()
    types = {generator.of_type(Slug) for _ in range(300)}
    assert all(re.fullmatch(SLUG, text) and len(text) <= 12 for text in types)
    assert any(len(text) == 12 for text in types)


def test_nested_values_have_their_types() -> None:
    generator = samples()
    for _ in range(50):
        sheet = generator.model(Sheet, {})
        assert isinstance(sheet, Sheet)
        assert 2 <= len(sheet.slugs) <= 4
        assert set(sheet.colours) == set(Colour), "elements differ where they can"
        assert [answer.word_count for answer in sheet.answers] in ([1], [2], [1, 2], [2, 1])
        assert all(answers for answers in sheet.by_name.values())
        assert sheet.pair[1] == "only"
        assert sheet.either is not None
        assert 1 <= len(sheet.many) <= 3


def test_the_same_seed_generates_the_same_values() -> None:
    def several(seed: int) -> list[BaseModel]:
        generator = samples(seed)
        return [generator.model(Sheet, {}) for _ in range(5)]

    assert several(3) == several(3)
    assert several(3) != several(4)


def test_an_example_of_a_field_is_validated_by_its_type() -> None:
    assert samples().field(Sheet, "due") == date(2026, 3, 1)


def test_recursive_models_end() -> None:
    assert isinstance(samples().model(Tree, {}), Tree)


def test_optional_fields_are_omitted_if_a_validator_requires_it() -> None:
    class Visit(BaseModel):
        ended: bool = False
        minutes: int | None = None

        @model_validator(mode="after")
        def _both_or_none(self) -> Self:
            if self.minutes is not None and not self.ended:
                raise ValueError("a visit that goes on has no length")
            return self

    generator = samples()
    assert all(isinstance(generator.model(Visit, {}), Visit) for _ in range(20))


def test_an_invalid_example_names_its_model_or_field() -> None:
    class Wrong(BaseModel):
        model_config = ConfigDict(json_schema_extra={"examples": [{"number": 1}, {"number": "many"}]})
        number: int
        other: Annotated[int, Field(examples=[1, "few"])] = 0

    with pytest.raises(SampleError, match="example 2 of Wrong is not valid for its model"):
        samples().model(Wrong, {})
    with pytest.raises(SampleError, match=r"example 'few' of Wrong.other is not valid for its type"):
        samples().field(Wrong, "other")


def test_inherited_examples_are_used_if_they_are_valid() -> None:
    class More(Answer):
        mark: int

    class Same(Answer):
        mark: int = 7

    assert isinstance(samples().model(Same, {}), Same)
    with pytest.raises(SampleError, match=r"(?s)no More can be generated .* add an example"):
        samples().model(More, {})


def test_an_unsatisfiable_validator_is_reported_with_its_message() -> None:
    def never(_value: Any) -> Any:
        raise ValueError("no such thing")

    class Never(BaseModel):
        value: Annotated[list[int], AfterValidator(never)]

    with pytest.raises(SampleError, match=r"(?s)no value of Never.value can be generated: .*no such thing"):
        samples().field(Never, "value")
