"""Damaged designs are compared with what they were, both ways round, as far as they can be loaded."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.check.damaging import damaged
from tests.check.test_damaged import DESIGNS, loaded
from tests.laws import examples

from keyplan.check import report
from keyplan.check.checking import check_change
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.diff.comparison import Comparison
from keyplan.diff.report import document, text


@pytest.mark.filterwarnings("ignore")  # pydantic warns of what is done to the models
@pytest.mark.parametrize("seed", range(examples(4)))
def test_a_damaged_design_can_be_compared_with_the_original(seed: int, tmp_path: Path) -> None:
    chance, compared = Random(seed), 0
    for number in range(40):
        source = chance.choice(DESIGNS)
        paths = tmp_path / f"old_{number}.py", tmp_path / f"new_{number}.py"
        paths[0].write_text(source)
        paths[1].write_text(damaged(source, chance), errors="surrogatepass")
        (_, old), (_, new) = loaded(paths[0]), loaded(paths[1])
        if old is not None and new is not None:
            treat(old, new)
            treat(new, old)
            compared += 1
    assert compared, "some are still designs"


def treat(old: Design, new: Design) -> None:
    comparison = Comparison(old, new, book())
    findings = check_change(comparison)
    assert all(finding.place.line > 0 for finding in findings.findings)
    assert text(comparison) + report.text([findings]) + report.sarif([findings]).decode()
    assert document(comparison)
    assert all(change.place.line > 0 for change in comparison.changes)
    assert bool(comparison.changes) or text(comparison).startswith(f"{new.name}: the two designs are the same")
