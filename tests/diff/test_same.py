"""A design does not differ from itself, however it is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.check.test_damaged import DESIGNS
from tests.check.test_rules import cases

import keyplan_systems
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.diff.comparison import Comparison
from keyplan.diff.programs import load_isolated

ROOT = Path(__file__).parents[2]
SYSTEMS = sorted(Path(next(iter(keyplan_systems.__path__))).glob("*/design.py"))
WRITTEN = sorted((ROOT / "examples" / "as_written").glob("*.py"))


@pytest.mark.parametrize("path", [*SYSTEMS, *WRITTEN], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_design_equals_itself(path: Path) -> None:
    old, new = load_isolated(str(path)).design, load_isolated(str(path)).design
    assert old.tables[0] is not new.tables[0]
    comparison = Comparison(old, new, book())
    assert not comparison.changes
    assert not comparison.backfills
    assert all(price.difference == 0 for price in comparison.prices)


def test_ten_designs_are_compared() -> None:
    assert len(SYSTEMS) == len(WRITTEN) == 5


@pytest.mark.filterwarnings("ignore")
def test_every_design_of_the_rules_equals_itself(tmp_path: Path) -> None:
    for (code, title, _), source in zip(cases(), DESIGNS, strict=True):
        paths = tmp_path / "one.py", tmp_path / "other.py"
        for path in paths:
            path.write_text(source)
        old, new = (Design.load(str(path)) for path in paths)
        assert not Comparison(old, new, book()).changes, f"{code} {title}"
