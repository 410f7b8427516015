"""`keyplan check` and `keyplan rule`: findings as text, JSON and SARIF, suppressions, and what cannot be checked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import FAULTY, NOT_DESIGNS, NOTES, bad_target, design, run

from keyplan.check.checking import PAGES

ACCEPTED = 'suppressed = [suppress("KP101", on="flags", reason="shown to the reader as it was written")]\n'


def test_a_finding_is_printed_in_compiler_format(tmp_path: Path) -> None:
    path = design(tmp_path, FAULTY)
    result = run("check", path, "--select", "KP101")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("error[KP101]: active is a key attribute of index by_state")
    assert f"--> {path}:" in lines[1]
    assert any(set(line.strip()) == {"|", "^", " "} or "^" in line for line in lines), "a caret shows the place"
    assert "conflicts with" in lines
    assert any(line.startswith("fix: ") for line in lines)
    assert "more: keyplan rule KP101" in lines
    assert lines[-1] == "plan: 1 error, 0 warnings, 0 advice"


DRAFT = """
drafts = Table("drafts", pk="PK", sk="SK", indexes=[GSI("by_team", pk="team", sk="title")])


@drafts.entity(key=key("TEAM#{team}", "DRAFT#{name}"))
class Draft(Entity):
    team: str
    name: str
    title: str
"""


def test_advice_of_one_rule_about_one_entity_is_printed_once(tmp_path: Path) -> None:
    path = design(tmp_path, DRAFT)
    long, empty, table, summary = run("check", path, "--select", "KP112", "--select", "KP103").stdout.split("\n\n")
    assert empty.startswith("advice[KP112]: writes of items with an empty Draft.name fail")
    assert empty.splitlines()[0].endswith("; likewise Draft.team, Draft.title")
    assert empty.splitlines()[-5:] == [
        "fix: declare name: Annotated[str, Field(min_length=1)]",
        "likewise",
        f"  --> {path}:9: Draft.team",
        f"  --> {path}:13: Draft.title",
        "more: keyplan rule KP112",
    ]
    assert long.splitlines()[-4:] == [
        "fix: declare name: Annotated[str, Field(max_length=250)]",
        "likewise",
        f"  --> {path}:13: Draft.title",
        "more: keyplan rule KP103",
    ]
    assert table.splitlines() == [
        "severity  rule   findings  title",
        "advice    KP103         1  " + PAGES["KP103"].title,
        "advice    KP112         1  " + PAGES["KP112"].title,
    ]
    assert summary == "plan: 0 errors, 0 warnings, 2 advice\n"
    (report,) = json.loads(run("check", path, "--select", "KP112", "--select", "KP103", "--format", "json").stdout)
    (longest, emptiest) = sorted(report["findings"], key=lambda finding: str(finding["code"]))
    assert [finding["item"] for finding in longest["alike"]] == ["Draft.title"]
    assert [(finding["item"], finding["place"]["line"]) for finding in emptiest["alike"]] == [
        ("Draft.team", 9),
        ("Draft.title", 13),
    ]


def test_each_error_is_printed_in_full(tmp_path: Path) -> None:
    more = FAULTY.replace('pk="active")', 'pk="active", sk="paid")').replace(
        "active: bool", "active: bool\n    paid: bool"
    )
    text = run("check", design(tmp_path, more), "--select", "KP101").stdout
    assert (text.count("error[KP101]"), text.count("likewise")) == (2, 0)


def test_a_design_without_errors_exits_with_0(tmp_path: Path) -> None:
    result = run("check", design(tmp_path, NOTES), "--select", "KP101")
    assert (result.exit_code, result.stdout) == (0, "plan: 0 errors, 0 warnings, 0 advice\n")


def test_several_designs_are_checked_together(tmp_path: Path) -> None:
    paths = design(tmp_path, NOTES, "one.py"), design(tmp_path, FAULTY, "two.py")
    result = run("check", *paths, "--select", "KP101")
    assert result.exit_code == 1
    assert result.stdout.endswith("one, two: 1 error, 0 warnings, 0 advice\n")


def test_json_has_every_part_of_a_finding(tmp_path: Path) -> None:
    path = design(tmp_path, FAULTY)
    (report,) = json.loads(run("check", path, "--format", "json", "--select", "KP101").stdout)
    (finding,) = report["findings"]
    assert report["design"] == "plan"
    assert report["suppressed"] == []
    assert {name: finding[name] for name in ("code", "severity", "subject")} == {
        "code": "KP101", "severity": "error", "subject": "flags",
    }  # fmt: skip
    assert finding["fix"]
    assert finding["place"]["file"] == path
    source = Path(path).read_text().splitlines()
    assert "GSI(" in source[finding["other"]["line"] - 1]


def test_a_suppressed_finding_is_not_an_error_and_keeps_its_reason(tmp_path: Path) -> None:
    path = design(tmp_path, FAULTY + ACCEPTED)
    result = run("check", path, "--format", "json", "--select", "KP101")
    (report,) = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report["findings"] == []
    assert [finding["reason"] for finding in report["suppressed"]] == ["shown to the reader as it was written"]
    assert run("check", path, "--select", "KP101").stdout.endswith("0 advice, 1 suppressed\n")


def codes(path: str) -> list[tuple[str, str]]:
    (report,) = json.loads(run("check", path, "--format", "json").stdout)
    return [(finding["code"], finding["severity"]) for finding in report["findings"]]


def test_an_unused_suppression_is_a_warning(tmp_path: Path) -> None:
    assert ("KP001", "warning") in codes(design(tmp_path, NOTES + ACCEPTED))
    assert ("KP001", "warning") not in codes(design(tmp_path, FAULTY + ACCEPTED))


def test_a_suppression_without_a_reason_is_an_error(tmp_path: Path) -> None:
    path = design(tmp_path, FAULTY + 'suppressed = [suppress("KP101", reason="because")]\n')
    assert ("KP002", "error") in codes(path)
    assert run("check", path).exit_code == 1


# SARIF 2.1.0 (OASIS), what the standard requires of each object: sections 3.13, 3.14, 3.19, 3.27, 3.28, 3.35, 3.49.
REQUIRED: dict[str, set[str]] = {
    "log": {"version", "runs"},
    "run": {"tool"},
    "driver": {"name"},
    "rule": {"id"},
    "result": {"message"},
    "suppression": {"kind"},
}


def sarif(path: str) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(run("check", path, "--format", "sarif", "--select", "KP101").stdout)
    assert set(log) >= REQUIRED["log"]
    assert log["version"] == "2.1.0"
    (run_log,) = log["runs"]
    assert set(run_log) >= REQUIRED["run"]
    assert set(run_log["tool"]["driver"]) >= REQUIRED["driver"]
    return dict(run_log)


def test_sarif_output_is_valid(tmp_path: Path) -> None:
    log = sarif(design(tmp_path, FAULTY))
    rules = log["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["KP101"]
    assert all(set(rule) >= REQUIRED["rule"] and rule["shortDescription"]["text"] for rule in rules)
    (result,) = log["results"]
    assert set(result) >= REQUIRED["result"]
    assert result["ruleId"] in {rule["id"] for rule in rules}
    assert result["level"] in {"none", "note", "warning", "error"}
    assert result["message"]["text"].startswith("active is a key attribute")
    for location in (*result["locations"], *result["relatedLocations"]):
        physical = location["physicalLocation"]
        assert physical["artifactLocation"]["uri"].startswith("file:///"), (
            "a file outside of the folder has a whole URI"
        )
        assert physical["region"]["startLine"] >= 1


def test_sarif_paths_within_the_folder_are_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = design(tmp_path, FAULTY)
    monkeypatch.chdir(tmp_path)
    (result,) = sarif(path)["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "plan.py"


def test_sarif_marks_accepted_findings_as_suppressed(tmp_path: Path) -> None:
    (result,) = sarif(design(tmp_path, FAULTY + ACCEPTED))["results"]
    (suppression,) = result["suppressions"]
    assert set(suppression) >= REQUIRED["suppression"]
    assert suppression == {"kind": "inSource", "justification": "shown to the reader as it was written"}


def test_an_unknown_rule_is_rejected(tmp_path: Path) -> None:
    result = run("check", design(tmp_path, NOTES), "--select", "KP999")
    assert result.exit_code == 2
    assert "unknown rule: 'KP999'" in result.stderr
    assert run("rule", "KP999").exit_code == 2


def test_rules_are_selected_by_lists_of_codes_families_and_names(tmp_path: Path) -> None:
    path = design(tmp_path, DRAFT)

    def codes_with(*options: str) -> set[str]:
        (report,) = json.loads(run("check", path, "--format", "json", *options).stdout)
        return {finding["code"] for finding in report["findings"]}

    everything = codes_with()
    assert codes_with("--select", "KP112,KP103") == {"KP112", "KP103"}
    assert codes_with("--select", "kp1") == {code for code in everything if code.startswith("KP1")}
    assert codes_with("--select", PAGES["KP112"].slug) == {"KP112"}
    assert codes_with("--ignore", "KP112", "--ignore", "KP103") == everything - {"KP112", "KP103"}
    assert codes_with("--select", "KP1", "--ignore", "KP112") == codes_with("--select", "KP1") - {"KP112"}


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_codes_that_check_reports_itself_cannot_be_selected_or_ignored(option: str, tmp_path: Path) -> None:
    result = run("check", design(tmp_path, NOTES), option, "KP001")
    assert result.exit_code == 2
    assert "KP001 cannot be selected or ignored" in result.stderr


@pytest.mark.parametrize("code", ["KP000", "KP001", "KP002"])
def test_every_code_of_a_finding_has_a_page(code: str) -> None:
    assert run("rule", code).stdout.startswith(f"{code} ")


def test_errors_come_first_and_are_printed_alone_on_request(tmp_path: Path) -> None:
    path = design(tmp_path, FAULTY)
    heads = [part.partition("[")[0] for part in run("check", path).stdout.split("\n\n")[:-2]]
    assert heads == sorted(heads, key=["error", "warning", "advice"].index)
    assert len(set(heads)) > 1
    result = run("check", path, "--errors-only")
    assert result.exit_code == 1
    assert {part.partition("[")[0] for part in result.stdout.split("\n\n")[:-1]} <= {
        "error",
        "severity  rule   findings  title",
    }
    assert "0 warnings, 0 advice" in result.stdout


def test_github_annotates_lines_of_a_pull_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = design(tmp_path, FAULTY)
    monkeypatch.chdir(tmp_path)
    result = run("check", path, "--format", "github", "--select", "KP101")
    line = result.stdout.splitlines()[0]
    assert re.match(r"::error file=plan\.py,line=\d+,title=KP101 [^:,]+::.*%0Afix: ", line)


def test_paths_below_the_current_folder_are_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = design(tmp_path, FAULTY)
    monkeypatch.chdir(tmp_path)
    assert "--> plan.py:" in run("check", path).stdout
    assert str(tmp_path) not in run("check", path).stdout


def test_rules_are_listed_and_shown() -> None:
    assert any(line.startswith("KP101 error") for line in run("rule").stdout.splitlines())
    page = run("rule", "kp101").stdout
    assert page.startswith("KP101 ")
    assert "Source" in page


@pytest.mark.parametrize("command", ["check", "price", "docs", "verify"])
@pytest.mark.parametrize("name", NOT_DESIGNS)
def test_a_target_that_is_not_a_design_is_rejected_with_the_reason(command: str, name: str, tmp_path: Path) -> None:
    target, code, text = bad_target(tmp_path, name)
    result = run(command, target)
    assert result.exit_code == code, result.output
    reported = command == "check" and name == "unknown.py"  # a refused declaration is a finding among others
    assert text in (result.stdout if reported else result.stderr)
    assert "Traceback" not in result.output
    assert (result.stdout == "") is not reported


def test_a_rejected_declaration_is_reported_with_the_findings_of_the_others(tmp_path: Path) -> None:
    get = "\n@flags.get(Flag)\ndef flag(flag_id: str) -> ItemKey:\n    return item(number=flag_id)\n"
    path = design(tmp_path, FAULTY + get)
    result = run("check", path)
    assert result.exit_code == 1
    assert "Flag has no field number" in result.stdout
    assert "error[KP101]: active is a key attribute" in result.stdout
    (report,) = json.loads(run("check", path, "--format", "json").stdout)
    assert {("flag", "KP201"), ("flags", "KP101")} <= {
        (finding["subject"], finding["code"]) for finding in report["findings"]
    }


def test_an_exception_in_the_design_is_shown_with_its_line(tmp_path: Path) -> None:
    target, _, _ = bad_target(tmp_path, "failing.py")
    assert f"{target}:2" in run("check", target).stderr


UNSAFE = """
tasks = Table("tasks", pk="task_id")

@tasks.entity(volume=Volume(count=200_000, bytes=Bytes(400)))
class Task(Entity):
    task_id: UUID
"""


@pytest.mark.slow  # starts processes
def test_mechanical_fixes_are_applied_and_the_changed_design_is_checked(tmp_path: Path) -> None:
    path = design(tmp_path, "from uuid import UUID\n" + UNSAFE)
    result = run("check", path, "--fix", "--ignore", "KP327", "--format", "json")
    assert result.exit_code == 0
    (report,) = json.loads(result.stdout)
    assert [finding["code"] for finding in report["findings"]] == []
    assert result.stderr.splitlines() == [
        f"fixed: KP806 {path}:7: table tasks: point_in_time_recovery=True",
        f"fixed: KP807 {path}:7: table tasks: deletion_protection=True",
    ]
    assert run("check", path, "--fix").stderr == ""


def test_the_diff_of_the_fixes_is_printed_and_nothing_is_written(tmp_path: Path) -> None:
    path = design(tmp_path, "from uuid import UUID\n" + UNSAFE)
    before = Path(path).read_text()
    result = run("check", path, "--diff", "--select", "KP807")
    assert result.exit_code == 1
    assert '-tasks = Table("tasks", pk="task_id")' in result.stdout.splitlines()
    assert '+tasks = Table("tasks", pk="task_id", deletion_protection=True)' in result.stdout.splitlines()
    assert Path(path).read_text() == before
    assert run("check", path, "--diff", "--select", "KP101").exit_code == 0


@pytest.mark.slow  # starts processes
def test_a_fix_that_cannot_be_applied_is_reported(tmp_path: Path) -> None:
    source = UNSAFE.replace('pk="task_id"', '**dict(pk="task_id")')
    path = design(tmp_path, "from uuid import UUID\n" + source)
    result = run("check", path, "--fix", "--select", "KP807")
    assert f"not fixed: KP807 {path}:7: table tasks: deletion_protection=True: its options are" in result.stderr
    assert "advice[KP807]" in result.stdout


def test_fixing_is_not_combined_with_watching(tmp_path: Path) -> None:
    result = run("check", design(tmp_path, UNSAFE), "--fix", "--watch")
    assert result.exit_code == 2
    assert "cannot be combined" in result.stderr
