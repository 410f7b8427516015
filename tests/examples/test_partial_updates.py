"""The example of partial updates, as it is run from a shell, checked and verified."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from keyplan.check.checking import check
from keyplan.design.declaring.design import Design

EXAMPLE = Path(__file__).parents[2] / "examples" / "partial_updates.py"

PRINTED = """\
created 'Keys', version 1
{"title": "Keys and templates"}: 'Keys and templates', None, version 2
{"subtitle": "A guide"}: 'Keys and templates', 'A guide', version 3
{"subtitle": null}: 'Keys and templates', None, version 4
{}: 'Keys and templates', None, version 4
drafts: 0
"""


def test_the_example_prints_the_article_after_each_change() -> None:
    run = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True)
    assert run.stdout == PRINTED


def test_the_design_has_no_errors_and_no_warnings() -> None:
    findings = check(Design.load(str(EXAMPLE))).findings
    assert [finding for finding in findings if finding.severity in {"error", "warning"}] == []
