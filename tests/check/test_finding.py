"""Findings of one cause are one finding, which stands for the others."""

from __future__ import annotations

import json
from pathlib import Path

from keyplan.check import report
from keyplan.check.checking import RULES, Report, check
from keyplan.check.finding import Finding, merge_findings
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.design.errors import Place
from keyplan.export.explain import explain

HEAD = "from __future__ import annotations\n\nfrom keyplan import *\n\n"
TASKS = """
app = Table("app", pk="PK", sk="SK", indexes=[GSI("by_state", pk="state", sk="title", project=None)])


@app.entity(key=key("TASK#{team}", "{title}"))
class Task(Entity):
    team: str
    title: str
    state: str


@app.query(Task, index="by_state")
def in_state(state: str) -> KeyCondition:
    return pk(state=state)


@app.query(Task, rate=Rate(1), limit=10)
def tasks(team: str) -> KeyCondition:
    return pk(team=team)


@app.query(Task, limit=20)
def more_tasks(team: str) -> KeyCondition:
    return pk(team=team)


@app.create(Task, rate=Rate(1))
def add_task(task: Task) -> ItemWrite:
    return item(task)
"""


def finding(item: str = "", cause: str = "", code: str = "KP112", line: int = 1) -> Finding:
    return Finding(
        code, "advice", item or "app", f"{item} can be empty", "fix it", Place("app.py", line), None, item, cause
    )


def designed(path: Path, text: str = TASKS) -> Design:
    path.write_text(HEAD + text)
    return Design.load(str(path))


def test_findings_with_the_same_cause_are_listed_in_the_first() -> None:
    title, team, state = (
        finding("Task.title"),
        finding("Task.team", line=2),
        finding("Task.state", "other cause", line=3),
    )
    first, second = merge_findings([title, team, state])
    assert first.problem == "Task.title can be empty; likewise Task.team"
    assert first.alike == (team,)
    assert first.subjects == ("Task.title", "Task.team")
    assert second == state


def test_findings_without_an_item_or_of_another_rule_stay_separate() -> None:
    separate = [finding(), finding(line=2), finding("Task.title"), finding("Task.title", code="KP102")]
    assert merge_findings(separate) == separate


def test_equal_findings_are_merged_without_a_list() -> None:
    assert merge_findings([finding("Task.title"), finding("Task.title")]) == [finding("Task.title")]


def test_an_item_at_two_places_is_named_once() -> None:
    (first,) = merge_findings([finding("Task.title"), finding("Task.title", line=9)])
    assert first.problem == "Task.title can be empty"
    assert [listed.place.line for listed in first.alike] == [9]


def test_suppressing_one_finding_keeps_the_others(tmp_path: Path) -> None:
    text = TASKS + '\nsuppressed = [suppress("KP316", on="in_state", reason="called by hand only")]\n'
    findings = check(designed(tmp_path / "tasks.py", text))
    (rate,) = [entry for entry in findings.findings if entry.code == "KP316"]
    assert rate.subjects == ("more_tasks",)
    assert [entry.subject for entry, _ in findings.suppressed] == ["in_state"]
    assert not [entry for entry in findings.findings if entry.code == "KP001"]


def test_a_pattern_is_explained_with_its_own_finding(tmp_path: Path) -> None:
    design = designed(tmp_path / "tasks.py")
    findings = check(design).findings
    assert "ignore patterns without a rate: more_tasks\n" in explain(design.pattern("more_tasks"), book(), findings)
    assert "without a rate" not in explain(design.pattern("tasks"), book(), findings)


def test_every_report_format_lists_all_places(tmp_path: Path) -> None:
    findings = check(designed(tmp_path / "tasks.py"), [RULES["KP112"]])
    (empty,) = findings.findings
    lines = report.text([findings]).splitlines()
    at = lines.index("likewise")
    assert [line.rpartition(": ")[2] for line in lines[at + 1 : -3]] == [
        merged_finding.item for merged_finding in empty.alike
    ]
    (listed,) = json.loads(report.json([findings]))[0]["findings"]
    assert [merged_finding["item"] for merged_finding in listed["alike"]] == [
        merged_finding.item for merged_finding in empty.alike
    ]
    (result,) = json.loads(report.sarif([findings]))["runs"][0]["results"]
    assert len(result["relatedLocations"]) == len(empty.alike) + 1


def test_a_rule_is_silent_if_another_rule_reports_the_cause(tmp_path: Path) -> None:
    text = TASKS.replace('pk="PK"', 'pk="PK", stream="NEW_IMAGE"') + (
        "\n\n@app.on_change(Task)\ndef tell(change: Inserted[Task]) -> None: ...\n"
    )
    design = designed(tmp_path / "tasks.py", text)
    assert [entry.code for entry in check(design, [RULES["KP709"]]).findings] == ["KP709"]
    both = check(design, [RULES["KP708"], RULES["KP709"]])
    assert [entry.code for entry in both.findings] == ["KP708"]
    assert "on_failure=" in both.findings[0].fix


def test_only_contradictions_are_called_conflicts(tmp_path: Path) -> None:
    findings = check(designed(tmp_path / "tasks.py"), [RULES["KP112"]])
    assert "see also" in report.text([findings])
    conflict = Report("tasks", (Finding("KP101", "error", "app", "x", "y", Place("a.py", 1), Place("b.py", 2)),), ())
    assert "conflicts with" in report.text([conflict])
