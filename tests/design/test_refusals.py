"""Declarations without meaning are refused where they are written: the whole text, caret and fix."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import pytest
from tests.design.declared import Case, cases, refusal

HERE = Path(__file__).parent / "refusals"
CASES = [(page.stem, case) for page in sorted(HERE.glob("*.md")) for case in cases(page)]


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{page}: {case.name}") for page, case in CASES])
def test_an_invalid_declaration_is_rejected_at_its_line(case: Case, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of the async function that nobody awaits
        assert _comparable(refusal(case.code, tmp_path)) == _comparable(case.told)


def _comparable(text: str) -> str:
    """Of a statement in a body, each version of Python knows more closely which part of it was reached."""
    return text if sys.version_info[:2] == (3, 11) else re.sub(r"^[ |]*\^+\n", "", text, flags=re.MULTILINE)


def test_every_case_has_a_fix() -> None:
    assert len(CASES) > 90
    assert all(case.told.splitlines()[-1].startswith("fix: ") and "^" in case.told for _, case in CASES)
