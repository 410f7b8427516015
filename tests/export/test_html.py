"""Designs as HTML pages: whole, safe whatever a design says, and with diagrams whose text has room."""

from __future__ import annotations

import re
from functools import cache

import pytest
from tests.export import diary
from tests.export.iam_watching import AS_WRITTEN, SYSTEMS, design_of
from tests.export.pages import Page, boxes, pictures, texts, visible_area
from tests.export.prices import fixed

from keyplan import GSI, Claim, Entity, F, Inserted, ItemKey, Table, item, key
from keyplan.check.checking import check
from keyplan.check.finding import Finding
from keyplan.cost.estimate import estimate
from keyplan.design.declaring.design import Design
from keyplan.export.html import page

DESIGNS = (*SYSTEMS, *map(str, AS_WRITTEN), "diary", "hostile")
EVIL = '<script>alert("x")</script>'


def hostile() -> Design:
    """Return a design whose texts would break a page if they were not escaped."""
    name = f"i'{EVIL}"
    indexes = [GSI(name, pk="]]>", project=[EVIL, "\x00\x1b"])]
    table = Table(EVIL, pk="<b>pk", stream="NEW_IMAGE", indexes=indexes)
    spared = key("-->{name}", only_if=F.name == EVIL)

    @table.entity(name=f"{EVIL}&amp;", key=key(f"{EVIL}#{{name}}"), indexes={name: spared})
    class Thing(Entity):
        name: str

    @table.get(Thing, claims=Claim(EVIL, EVIL))
    def thing(name: str) -> ItemKey:
        """<script>alert("pattern")</script> ![picture](https://example.com/x.png) [click](javascript:alert(1))"""
        return item(name=name)

    @table.on_change(Thing, on_failure=EVIL, retries=1, filter=F.name == EVIL)
    def follow(change: Inserted[Thing]) -> None:
        """Nothing."""

    doc = f"{EVIL}\n\n<img src=x onerror=alert(1)>\n\n# A title {EVIL}"
    doc += "\n\n![p](https://example.com/p.png)\n\n&lt;b&gt; \x1b \ud800"
    return Design(EVIL, (table,), claims=(Claim(EVIL),), doc=doc)


def design_named(name: str) -> Design:
    if name == "diary":
        return Design.of(diary)
    return hostile() if name == "hostile" else design_of(name)


@cache
def page_of(name: str) -> str:
    design = design_named(name)
    findings = check(design).findings
    return page(design, findings, estimate(design, fixed()))


@pytest.mark.slow  # exports whole designs
@pytest.mark.parametrize("name", DESIGNS)
def test_a_page_is_well_formed_and_every_link_has_a_target(name: str) -> None:
    read = Page(page_of(name))
    assert page_of(name).startswith("<!DOCTYPE html>\n<html lang=")
    links = [actual_tag["href"] for tag, actual_tag in read.tags if tag == "a"]
    inner = {str(link)[1:] for link in links if str(link).startswith("#")}
    assert inner
    assert inner <= read.ids
    named = {name for _, tag in read.tags for name in str(tag.get("aria-labelledby") or "").split()}
    assert named <= read.ids


@pytest.mark.parametrize("name", DESIGNS)
def test_a_page_loads_and_executes_nothing(name: str) -> None:
    read = Page(page_of(name))
    tags = {tag for tag, _ in read.tags}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "form", "use", "image", "foreignobject"}
    attributes = {attribute for _, tag in read.tags for attribute in tag}
    assert not {
        attribute
        for attribute in attributes
        if attribute.startswith("on") or attribute in {"src", "srcset", "style", "action"}
    }
    assert not [
        actual_tag for tag, actual_tag in read.tags if tag == "a" and str(actual_tag["href"]).startswith("javascript")
    ]
    style = re.findall(r"<style>(.*?)</style>", page_of(name), re.DOTALL)
    assert len(style) == 1
    assert not re.search(r"url\(|@import|</", style[0])
    assert "default-src 'none'" in page_of(name)


def test_texts_of_a_design_are_escaped() -> None:
    read = Page(page_of("hostile"))
    assert read.text.count(EVIL) > 10
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", page_of("hostile"))


@pytest.mark.parametrize("name", DESIGNS)
def test_every_text_of_a_diagram_is_inside_its_box_and_overlaps_no_other(name: str) -> None:
    actual_pictures = pictures(page_of(name))
    assert len(actual_pictures) >= 2
    for picture in actual_pictures:
        areas, labels = boxes(picture), texts(picture)
        assert labels
        for text, area in labels:
            assert any(box.holds(area) for box in areas), text
            assert visible_area(picture).holds(area), text
        for number, (text, area) in enumerate(labels):
            assert not [other for other, its in labels[number + 1 :] if area.meets(its)], text


@pytest.mark.parametrize("name", DESIGNS)
def test_boxes_are_nested_or_disjoint(name: str) -> None:
    for picture in pictures(page_of(name)):
        areas = boxes(picture)
        for number, area in enumerate(areas):
            for other in areas[number + 1 :]:
                assert not area.meets(other) or area.holds(other) or other.holds(area)


@pytest.mark.parametrize("name", DESIGNS)
def test_every_diagram_has_a_description(name: str) -> None:
    for picture in pictures(page_of(name)):
        assert picture.attrib["role"] == "img"
        title, description = picture.find("title"), picture.find("desc")
        assert title is not None
        assert description is not None
        assert title.text
        assert description.text
        assert picture.attrib["aria-labelledby"].split() == [title.attrib["id"], description.attrib["id"]]


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_entity_and_every_pattern_is_in_a_diagram(name: str) -> None:
    design = design_named(name)
    labels = " ".join(text for picture in pictures(page_of(name)) for text, _ in texts(picture))
    for entity in design.entities:
        assert entity.name in labels
    for pattern in design.patterns:
        assert f"{pattern.name} " in labels
    for table in design.tables:
        for consumer in table.consumers:
            assert consumer.name in labels


def test_a_page_is_deterministic() -> None:
    design = design_named("forum")
    assert page(design, check(design).findings, estimate(design, fixed())) == page_of("forum")


def test_the_contents_list_tables_entities_and_sections() -> None:
    nav = page_of("diary").partition("<nav")[2].partition("</nav>")[0]
    titles = re.findall(r">([^<]+)</a>", nav)
    assert titles == [
        *("Table diary", "Indexes", "Entity chart", "Author", "Entry"),
        *("Access patterns", "Change consumers", "Monthly cost", "Findings"),
    ]


def test_a_finding_is_a_row_of_the_page() -> None:
    design = design_named("diary")
    finding = Finding("KP101", "error", "entry", "a | b", "do it", design.pattern("entry").place)
    assert "<td>a | b</td>" in page(design, [finding], estimate(design, fixed()))


def two_tables() -> Design:
    """Two tables, with a pattern and an entity of one name in each."""
    first, second, third = Table("first", pk="id"), Table("second", pk="id"), Table("third", pk="id")
    for table in (first, second):

        @table.entity(name="Thing")
        class Thing(Entity):
            id: str

        def read(id: str) -> ItemKey:
            """Read it."""
            return item(id=id)

        read.__name__ = f"read_{table.name}"
        table.get(Thing)(read)
    return Design("two", (first, second, third), doc="Two tables, and one of nothing.")


def test_a_diagram_follows_its_heading() -> None:
    design = two_tables()
    text = page(design, [], estimate(design, fixed()))
    parts = re.findall(
        r"<h\d id=\"[^\"]+\">(.*?)</h\d>|<p>(Two .*?)</p>|<figcaption>(.*?)</figcaption>|<(table)>", text
    )
    chart = "Entities with their keys and fields, and the indexes that hold them."
    used = "Patterns that read and write {}. Every write also updates its indexes."
    tables = [[f"Table <code>{name}</code>", "table", "Entity chart", chart, "table"] for name in ("first", "second")]
    assert ["".join(part) for part in parts] == [
        *("two", "Two tables, and one of nothing."),
        *(*tables[0], "Thing", "table", *tables[1], "Thing", "table"),
        *("Table <code>third</code>", "table", "Entity chart", "table"),
        *("Access patterns", used.format("first"), used.format("second"), "table"),
        *("Monthly cost", "table", "Findings"),
    ]


def test_a_table_is_drawn_with_its_own_patterns() -> None:
    design = two_tables()
    first, second = pictures(page(design, [], estimate(design, fixed())))[2:]
    assert [text for text, _ in texts(first)] == ["table first", "partition key id", "1 entity", "read_first Get"]
    assert [text for text, _ in texts(second)] == ["table second", "partition key id", "1 entity", "read_second Get"]


def test_equal_headings_have_different_ids() -> None:
    design = two_tables()
    headings = "# Section\n\n## *\n\n## Thing!\n\n## *"
    html = page(Design("two", design.tables, doc=headings), [], estimate(design, fixed()))
    ids = re.findall(r"<h\d id=\"([^\"]+)\"", html)
    assert ids[:5] == ["s-two", "s-section", "s-section-2", "s-thing", "s-section-3"]
    assert [heading_id for heading_id in ids if heading_id.startswith("s-thing")] == [
        "s-thing",
        "s-thing-2",
        "s-thing-3",
    ]


def test_a_heading_is_listed_without_its_markup() -> None:
    design = two_tables()
    html = page(Design("two", design.tables, doc="## One `of` *them*"), [], estimate(design, fixed()))
    assert '<li class="level2"><a href="#s-one-of-them">One of them</a></li>' in html


def test_the_diagram_of_consumers_is_between_their_heading_and_their_table() -> None:
    behind = page_of("diary").partition("Change consumers</h2>")[2]
    assert behind.index("<figure>") < behind.index("<table>")


def test_wide_tables_scroll_separately() -> None:
    assert re.findall(r"(<div[^>]*>)\s*<table>", page_of("diary")) == ['<div class="wide" tabindex="0">'] * page_of(
        "diary"
    ).count("<table>")
    assert page_of("diary").count("</table>\n</div>") == page_of("diary").count("<table>")
