"""Designs as a whole: loaded from files and modules, with their load, claims and what they accept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.design.declared import declare

from keyplan import (
    Bytes,
    Claim,
    Design,
    DesignError,
    Distinct,
    OnDemand,
    Provisioned,
    Rate,
    Table,
    Volume,
    each,
    every_shard,
    suppress,
)
from keyplan.design.errors import Place, line_number, show_place
from keyplan.design.parameters import Param, annotation_of, value_of

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())

DESIGN = '''"""The notes of users."""

from keyplan import *

claims = Claim("cheap", "page 1")
suppressed = [suppress("KP405", on="notes", reason="few writes")]
notes = Table("notes", pk="owner", sk="number")


@notes.entity()
class Note(Entity):
    owner: str
    number: int


@notes.query(Note, rate=Rate(1))
def notes_of(owner: str) -> KeyCondition:
    return pk(owner=owner)


@notes.delete(Note)
def drop(owner: str, number: int) -> ItemWrite:
    return item(owner=owner, number=number)


@transaction()
def drop_all(owner: str, numbers: list[int]) -> list[WriteCall[Note | None]]:
    return [drop(owner, each(numbers))]
'''


def test_a_file_is_a_design(tmp_path: Path) -> None:
    path = tmp_path / "people.py"
    path.write_text(DESIGN)
    design = Design.load(str(path))
    assert (design.name, design.doc) == ("people", "The notes of users.")
    assert [table.name for table in design.tables] == ["notes"]
    assert [entity.name for entity in design.entities] == ["Note"]
    assert [pattern.name for pattern in design.patterns] == ["notes_of", "drop", "drop_all"]
    assert design.pattern("drop_all") is design.transactions[0]
    assert design.table_of(design.pattern("notes_of")) is design.tables[0]
    assert [claim.text for claim in design.claims] == ["cheap"]
    (suppressed,) = design.suppressed
    assert (suppressed.code, suppressed.on, suppressed.reason) == ("KP405", "notes", "few writes")
    assert (suppressed.place.file, suppressed.place.line) == (str(path), 6)
    with pytest.raises(KeyError):
        design.pattern("no_such")


def test_a_module_is_a_design_and_a_file_called_design_has_its_folders_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "people_of_test"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "design.py").write_text(DESIGN)
    monkeypatch.syspath_prepend(str(tmp_path))
    design = Design.load("people_of_test.design")
    assert design.name == "people_of_test"
    assert Design.load(str(folder / "design.py")).name == "people_of_test"
    del sys.modules["people_of_test.design"], sys.modules["people_of_test"]


def test_a_pattern_of_another_design_has_no_table(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(DESIGN)
    first, second = (Design.load(str(tmp_path / f"{name}.py")) for name in ("one", "two"))
    with pytest.raises(KeyError, match="drop"):
        first.table_of(second.pattern("drop"))


def test_a_target_that_is_not_a_design_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(DesignError, match="is not a Python file"):
        Design.load(str(tmp_path / "missing.py"))
    path = tmp_path / "empty.py"
    path.write_text("x = 1\n")
    with pytest.raises(DesignError, match=r"declares no table") as caught:
        Design.load(str(path))
    assert caught.value.problem == f"{path} declares no table"
    assert "fix: declare one: app = Table(" in str(caught.value)
    with pytest.raises(ModuleNotFoundError):
        Design.load("no_such_module_of_keyplan")


def test_a_design_declares_the_cost_from_which_findings_count(tmp_path: Path) -> None:
    path = tmp_path / "design.py"
    path.write_text('from keyplan import Table\n\napp = Table("app", pk="id")\n')
    assert Design.load(str(path)).cost_floor == 10
    path.write_text('from keyplan import Table\n\ncost_floor = 25\napp = Table("app", pk="id")\n')
    assert Design.load(str(path)).cost_floor == 25
    path.write_text('from keyplan import Table\n\ncost_floor = "25"\napp = Table("app", pk="id")\n')
    with pytest.raises(DesignError, match="the module's cost_floor is '25', which is not an amount"):
        Design.load(str(path))


def test_a_failing_file_is_removed_from_loaded_modules(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("raise RuntimeError('no')\n")
    before = set(sys.modules)
    with pytest.raises(RuntimeError, match="no"):
        Design.load(str(path))
    assert set(sys.modules) == before


@pytest.mark.slow  # loads whole designs
@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "as_written").glob("*.py")), ids=lambda path: path.stem)
def test_the_published_designs_are_declared_in_full_including_their_faults(path: Path) -> None:
    design = Design.load(str(path))
    assert design.tables
    for pattern in design.patterns:
        assert pattern.plan.pattern == pattern.name


# Load.


def test_a_rate_has_an_average_and_a_peak() -> None:
    assert (Rate(2).highest, Rate(2, 5).highest) == (2, 5)
    assert Rate.monthly(730 * 3600).average == 1
    assert Rate.monthly(730 * 3600, peak=0.5).highest == 1
    for wrong in ({"average": -1}, {"average": 2, "peak": 1}):
        with pytest.raises(DesignError, match="is not a rate"):
            Rate(**wrong)


def test_items_declare_the_distribution_of_their_fields() -> None:
    items = Volume(
        count=100,
        bytes=Bytes(400, p99=900),
        distinct={"user": 10, "hot": Distinct(10, hottest=0.6), "status": {"open": 1, "done": 3}},
        present={"email": 0.5},
    )
    assert items.values_of("user") == Distinct(10)
    assert items.values_of("user").hottest_share == 0.1  # type: ignore[union-attr]
    assert items.values_of("hot").hottest_share == 0.6  # type: ignore[union-attr]
    assert items.values_of("status") == Distinct(2, 0.75)
    assert items.values_of("other") is None
    assert items.share_of("status", "open") == 0.25
    assert items.share_of("status", "lost") == 0
    assert items.share_of("user", "x") == 0.1
    assert items.share_of("other", "x") is None


@given(st.dictionaries(st.text(), st.floats(0.01, 1e6), min_size=1, max_size=5))
def test_shares_add_up_to_one_in_any_notation(shares: dict[str, float]) -> None:
    items = Volume(count=1, distinct={"kind": shares})
    assert sum(items.share_of("kind", value) or 0 for value in shares) == pytest.approx(1)
    assert items.values_of("kind").hottest_share == pytest.approx(max(items.share_of("kind", v) or 0 for v in shares))  # type: ignore[union-attr]


def test_capacity_is_on_demand_unless_provisioned() -> None:
    assert isinstance(Table("a", pk="id").schema.billing, OnDemand)
    assert not Table("a", pk="id").schema.provisioned
    assert Table("a", pk="id", billing=Provisioned(read=1, write=1)).schema.provisioned


def test_claims_and_suppressions_know_their_lines() -> None:
    claim = Claim("0.5 RCU")
    suppressed = suppress("KP401", reason="never")
    assert line_number(claim.place) + 1 == line_number(suppressed.place)
    assert claim == Claim("0.5 RCU")


# Stand-ins.


class Given:
    name = "Ann"


def test_values_are_read_from_arguments() -> None:
    user = Param("user", Given)
    arguments = {"user": Given, "names": ["a", "b"]}
    assert value_of("constant", arguments) == "constant"
    assert value_of(user.name, arguments) == "Ann"
    assert value_of(each(Param("names", list)), arguments) == ("a", "b")
    assert value_of(each(["x", user.name]), arguments) == ("x", "Ann")
    assert (annotation_of(user), annotation_of(user.name), annotation_of(3)) == (Given, None, None)
    assert (repr(user.name), repr(each(["a"])), repr(every_shard())) == ("user.name", "each(('a',))", "every_shard()")
    with pytest.raises(AttributeError):
        user._private  # noqa: B018 - the look-up is the point


# Places.


def test_a_caret_counts_characters_and_keeps_tabs(tmp_path: Path) -> None:
    path = tmp_path / "text.py"
    path.write_text('if True:\n\tname = "\N{SNOWMAN}é"; field = 1\n')
    lines = show_place(Place(str(path), 2, "field")).splitlines()
    assert lines[-2].index("field") == lines[-1].index("^")
    assert lines[-1].count("^") == len("field")
    assert "\t" in lines[-1]


def test_a_place_in_a_decorator_can_show_the_class(tmp_path: Path) -> None:
    path = tmp_path / "shop.py"
    blank = "\n" * 4
    path.write_text(
        f'from keyplan import *\n{blank}shop = Table("shop", pk="PK")\n\n'
        '@shop.entity(\n    key=key("ORDER#{number}"),\n    version="version",\n)\n'
        "class Order(Entity):\n    number: int\n    version: int = 0\n"
    )
    (order,) = Design.load(str(path)).tables[0].entities
    for place in (order.place, order.place.at("version")):
        plain, complete = show_place(place).splitlines(), show_place(place, with_definition=True).splitlines()
        assert complete[-1] == " 12 | class Order(Entity):"
        assert [line.strip() for line in complete[:-1]] == [line.strip() for line in plain]
    assert show_place(order.place, with_definition=True).splitlines()[2] == "  8 | @shop.entity("
    in_class = order.place.at("number: int")
    assert show_place(in_class, with_definition=True) == show_place(in_class)


def test_a_name_is_not_found_inside_a_longer_name(tmp_path: Path) -> None:
    path = tmp_path / "text.py"
    path.write_text("user_id = 1\nid = user_id\n")
    assert line_number(Place(str(path), 1, "id")) == 2


def test_a_place_without_source_is_shown_by_its_line() -> None:
    assert show_place(Place("<prompt>", 3, "x")) == "  --> <prompt>:3"
    assert str(Place("design.py", 3)) == "design.py:3"


def test_an_error_at_the_end_of_a_long_class_points_into_it(tmp_path: Path) -> None:
    fields = "\n".join(f"    field_{number}: str" for number in range(80))
    head = 'app = Table("app", pk="id")\n\n\n@app.entity()\nclass Long(Entity):\n    id: str\n'
    code = f"{head}{fields}\n    shape: complex\n"
    with pytest.raises(DesignError) as caught:
        declare(code, tmp_path / "design.py")
    assert line_number(caught.value.place) == len(code.splitlines())
