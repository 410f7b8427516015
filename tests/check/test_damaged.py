"""Damaged designs are refused with a line in their file, or checked, priced, explained and documented."""

from __future__ import annotations

import traceback
from pathlib import Path
from random import Random

import pytest
from tests.check.damaging import damaged
from tests.check.test_rules import HEAD, cases
from tests.laws import examples

import keyplan
from keyplan.check import report
from keyplan.check.checking import check
from keyplan.cost.estimate import estimate
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.design.errors import DesignError
from keyplan.export.explain import explain
from keyplan.export.markdown import document

OWN = str(Path(keyplan.__file__).parent)
DESIGNS = [HEAD.replace("Literal", "Any, Literal") + source for _, _, source in cases()]


@pytest.mark.filterwarnings("ignore")  # pydantic warns of what is done to the models
@pytest.mark.parametrize("seed", range(examples(8)))
def test_a_damaged_design_is_rejected_or_checked_like_any_other(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    for number in range(60):
        source = damaged(chance.choice(DESIGNS), chance)
        path = tmp_path / f"design_{number}.py"
        path.write_text(source, errors="surrogatepass")
        reason, design = loaded(path)
        if design is not None:
            treat(design)
        elif isinstance(reason, DesignError):
            assert (reason.place.file, reason.place.line > 0) == (str(path), True), source
            assert str(reason).splitlines()[-1].startswith("fix: "), source
        else:
            # Python and pydantic may refuse it, but not because something inside of keyplan fell over it.
            last = traceback.extract_tb(reason.__traceback__)[-1].filename if reason is not None else ""
            assert not last.startswith(OWN), source


def loaded(path: Path) -> tuple[Exception | None, Design | None]:
    """Return the design of a file, or the error that it raises."""
    try:
        return None, Design.load(str(path))
    except Exception as error:  # noqa: BLE001 - what it is decides the test
        return error, None


def treat(design: Design) -> None:
    """Everything that is generated from a design without running it."""
    checked = check(design)
    assert all(finding.place.line > 0 for finding in checked.findings)
    assert report.text([checked]) + report.json([checked]).decode() + report.sarif([checked]).decode()
    assert document(design, checked.findings, estimate(design, book()))
    for pattern in design.patterns:
        assert explain(pattern, book(), checked.findings)
