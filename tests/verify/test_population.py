"""Entities that name the key of another by several fields name one that is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from pydantic import Field

from keyplan import Bytes, Distinct, Entity, KeyCondition, Table, Volume, key, pk, unique
from keyplan.design.declaring.design import Design
from keyplan.verify import verify
from keyplan.verify.generate import EntityGenerator, generators
from keyplan.verify.values import ValueGenerator

work = Table("work", pk="PK", sk="SK")


@work.entity(
    key=key("PROJECT#{org}#{project}", "TASK#{task}"),
    volume=Volume(count=40_000, bytes=Bytes(400), distinct={"org": 100, "project": 1_000}),
)
class Task(Entity):
    org: str
    project: str
    task: str
    text: str


@work.entity(key=key("PROJECT#{org}#{project}", "PROJECT"), volume=Volume(count=1_000, distinct={"org": 100}))
class Project(Entity):
    org: str
    project: str


@work.entity(key=key("PROJECT#{org}#{project}", "PLAN"), volume=Volume(count=400))
class Plan(Entity):
    """One for some of the projects."""

    org: str
    project: str


@work.entity(key=key("PROJECT#{org}#{project}", "TASK#{task}#NOTE#{note}"), volume=Volume(count=9_000))
class Note(Entity):
    """Of a task of a project of an organisation."""

    org: str
    project: str
    task: str
    note: str


@work.entity(
    key=key("LETTER#{letter}", "LETTER"),
    volume=Volume(
        count=2_000, bytes=Bytes(900), distinct={"org": Distinct(100, hottest=0.4)}, present={"project": 0.5}
    ),
)
class Letter(Entity):
    """About a project, or none; two of five are of one organisation."""

    letter: str
    org: str
    project: str | None = None


@work.query(Task, Project)
def with_tasks(org: str, project: str) -> KeyCondition:
    """Return a project with its tasks."""
    return pk(org=org, project=project)


DESIGN = Design("work", (work,))


@pytest.fixture(scope="module")
def population() -> dict[str, list[Any]]:
    return {
        spec.name: list(maker.make_all())
        for spec, maker in generators(DESIGN, 5_000, ValueGenerator(1, 1_767_225_600.0)).items()
    }


def keys_of(items: Sequence[Any], *names: str) -> set[tuple[Any, ...]]:
    return {tuple(getattr(item, name) for name in names) for item in items}


def test_every_task_belongs_to_a_later_generated_project(population: dict[str, list[Any]]) -> None:
    projects = keys_of(population["Project"], "org", "project")
    assert keys_of(population["Task"], "org", "project") <= projects
    sizes = Counter((task.org, task.project) for task in population["Task"])
    assert sum(sizes.values()) / len(projects) == pytest.approx(40, rel=0.2), "partitions keep their size"


def test_notes_of_a_task_belong_to_its_project_too(population: dict[str, list[Any]]) -> None:
    assert keys_of(population["Note"], "org", "project", "task") <= keys_of(
        population["Task"], "org", "project", "task"
    )


def test_entities_with_equal_keys_are_generated_one_to_one(population: dict[str, list[Any]]) -> None:
    assert keys_of(population["Plan"], "org", "project") <= keys_of(population["Project"], "org", "project")
    assert len(keys_of(population["Plan"], "org", "project")) == len(population["Plan"]) < len(population["Project"])


def test_declared_shares_are_kept_and_omitted_items_are_not_referenced(population: dict[str, list[Any]]) -> None:
    about = [letter for letter in population["Letter"] if letter.project is not None]
    assert keys_of(about, "org", "project") <= keys_of(population["Project"], "org", "project")
    assert len(about) == pytest.approx(len(population["Letter"]) / 2, rel=0.25)
    ((_, hottest),) = Counter(letter.org for letter in population["Letter"]).most_common(1)
    assert hottest / len(population["Letter"]) == pytest.approx(0.4, rel=0.2)


def test_more_items_than_loaded_can_be_generated(population: dict[str, list[Any]]) -> None:
    by_name: dict[str, EntityGenerator] = {
        spec.name: maker for spec, maker in generators(DESIGN, 5_000, ValueGenerator(1, 1_767_225_600.0)).items()
    }
    plans = [by_name["Plan"].make() for _ in range(2 * len(population["Project"]))]
    assert len(keys_of(plans, "org", "project")) == len(plans)


def test_a_partition_is_read_with_its_child_items() -> None:
    (result,) = verify(DESIGN, items=2_000, pattern="with_tasks").patterns
    assert result.verdict == "OK"
    assert result.evaluated > 20


def test_too_few_keys_are_reported_for_the_entity_that_owns_them() -> None:
    few = Table("few", pk="PK", sk="SK")

    @few.entity(key=key("ROOM#{house}#{room}", "ROOM"), volume=Volume(count=50))
    class Room(Entity):
        house: Annotated[int, Field(ge=1, le=2)]
        room: Annotated[int, Field(ge=1, le=3)]

    @few.entity(key=key("ROOM#{house}#{room}", "GUEST#{guest}"), volume=Volume(count=60))
    class Guest(Entity):
        house: Annotated[int, Field(ge=1, le=2)]
        room: Annotated[int, Field(ge=1, le=3)]
        guest: str

    (table,) = verify(Design("few", (few,)), items=110).tables
    assert [problem.text.split()[0] for problem in table.problems] == ["Room"]
    assert [(name, loaded) for name, loaded, _ in table.loaded if name == "Guest"] == [("Guest", 60)]


def test_the_key_of_an_item_is_not_taken_from_its_children() -> None:
    cab = Table("cab", pk="PK", sk="SK")

    @cab.entity(key=key("DRIVER#{driver}", "DRIVER"), volume=Volume(count=50))
    class Driver(Entity):
        driver: str
        trip: str

    @cab.entity(key=key("OFFER#{trip}", "OFFER#{driver}"), volume=Volume(count=20))
    class Offer(Entity):
        trip: str
        driver: str

    design = Design("cab", (cab,))
    drivers, _ = (
        list(maker.make_all()) for maker in generators(design, 100, ValueGenerator(1, 1_767_225_600.0)).values()
    )
    assert len(keys_of(drivers, "driver")) == 50


def test_a_unique_entity_references_an_item_that_no_other_references() -> None:
    site = Table("site", pk="PK", sk="SK")

    @site.entity(key=key("SITE#{site}", "ARTICLE#{article}"), unique=[unique("site", "slug")], volume=Volume(count=200))
    class Article(Entity):
        site: str
        article: str
        slug: str

    @site.entity(key=key("SITE#{site}", "SLUG#{slug}"), volume=Volume(count=200, distinct={"site": 4}))
    class Slug(Entity):
        site: str
        slug: str

    @site.entity(key=key("SITE#{site}", "ARTICLE#{article}#TAG#{tag}"), volume=Volume(count=300))
    class Tag(Entity):
        site: str
        article: str
        tag: str

    design = Design("site", (site,))
    articles, slugs, _ = (
        list(maker.make_all()) for maker in generators(design, 700, ValueGenerator(1, 1_767_225_600.0)).values()
    )
    assert keys_of(articles, "site", "slug") == keys_of(slugs, "site", "slug")


def test_child_items_are_distributed_over_all_parents() -> None:
    repo = Table("repo", pk="PK", sk="SK")

    @repo.entity(key=key("ISSUE#{name}", "{number:06d}"), volume=Volume(count=200, distinct={"name": 5}))
    class Issue(Entity):
        name: str
        number: int

    @repo.entity(key=key("COMMENTS#{name}#{number:06d}", "{comment}"), volume=Volume(count=1_000))
    class Comment(Entity):
        name: str
        number: int
        comment: str

    design = Design("repo", (repo,))
    _, comments = (
        list(maker.make_all()) for maker in generators(design, 1_200, ValueGenerator(1, 1_767_225_600.0)).values()
    )
    assert len(keys_of(comments, "name", "number")) > 180
