"""`keyplan export iam`: a policy printed or written, its options, and what it says beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import NOT_DESIGNS, NOTES, bad_target, design, run

CONSUMED = """
log = Table("log", pk="PK", stream="NEW_IMAGE")

@log.entity(key=key("LINE#{line}"))
class Line(Entity):
    line: str

@log.get(Line)
def line(line: str) -> Key:
    return key_of(line=line)

@log.scan(Line)
def lines() -> Cond:
    return everything()

@log.on_change(Line, on_failure="dead")
def follow(change: Inserted[Line]) -> None: ...
"""
FAILURES = """
from keyplan.changes import failure_table
failures = failure_table()
"""
OWN = "${aws:PrincipalTag/line}"
ANYWHERE = "arn:aws:dynamodb:*:*:table/"


def statements(text: str) -> dict[str, Any]:
    return {one["Sid"]: one for one in json.loads(text)["Statement"]}


def leading(statement: dict[str, Any]) -> list[str]:
    found: list[str] = statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
    return found


def test_a_policy_is_printed_or_written(tmp_path: Path) -> None:
    path, target = design(tmp_path, NOTES), tmp_path / "policy.json"
    printed = run("export", "iam", path)
    assert (printed.exit_code, printed.stderr) == (0, "")
    assert list(statements(printed.stdout)) == ["NotesGetPut", "NotesByOwnerQuery"]
    result = run("export", "iam", path, "-o", str(target))
    assert target.read_text() == printed.stdout
    assert result.stdout == f"{target}: {len(printed.stdout.splitlines())} lines\n"


def test_arns_name_region_account_partition_and_prefix(tmp_path: Path) -> None:
    path = design(tmp_path, NOTES)
    told = ("--region", "eu-west-1", "--account", "123456789012", "--partition", "aws-cn", "--prefix", "dev-")
    made = statements(run("export", "iam", path, *told).stdout)
    own = "arn:aws-cn:dynamodb:eu-west-1:123456789012:table/dev-notes"
    assert [one["Resource"] for one in made.values()] == [[own], [f"{own}/index/by_owner"]]
    anywhere = statements(run("export", "iam", path).stdout)
    assert anywhere["NotesGetPut"]["Resource"] == [f"{ANYWHERE}notes"]


@pytest.mark.parametrize(
    ("option", "value"),
    [("region", "Ireland"), ("account", "12"), ("partition", "gcp"), ("prefix", "a b"), ("pattern", "missing")],
)
def test_what_no_policy_can_say_is_refused(option: str, value: str, tmp_path: Path) -> None:
    result = run("export", "iam", design(tmp_path, NOTES), f"--{option}", value)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("keyplan export iam: ")
    assert value in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("bound", ["line", "line=", "=x", "other=x"])
def test_a_binding_that_binds_nothing_is_refused(bound: str, tmp_path: Path) -> None:
    result = run("export", "iam", design(tmp_path, CONSUMED), "--bind", bound)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1


def test_a_binding_to_a_number_is_refused(tmp_path: Path) -> None:
    source = NOTES.replace("note_id: str", "note_id: int")
    result = run("export", "iam", design(tmp_path, source), "--bind", "note_id=7")
    assert result.exit_code == 2
    assert "note_id is part of note_id, which is of type N" in result.stderr


def test_a_bound_parameter_is_the_principals_and_the_rest_is_told(tmp_path: Path) -> None:
    result = run("export", "iam", design(tmp_path, CONSUMED), "--bind", f"line={OWN}", "--no-consumers")
    assert leading(statements(result.stdout)["LogGet"]) == [f"LINE#{OWN}"]
    assert result.stderr == "note: these reach partitions of every principal: lines\n"


def test_patterns_are_chosen_by_name(tmp_path: Path) -> None:
    path = design(tmp_path, CONSUMED)
    assert list(statements(run("export", "iam", path, "--pattern", "line").stdout)) == ["LogGet"]
    two = run("export", "iam", path, "--pattern", "line", "--pattern", "lines").stdout
    assert list(statements(two)) == ["LogGet", "LogScan"]


def test_consumers_may_read_the_stream_and_keep_checkpoints(tmp_path: Path) -> None:
    path = design(tmp_path, CONSUMED)
    result = run("export", "iam", path, "--prefix", "dev-")
    made = statements(result.stdout)
    assert made["ListStreams"]["Resource"] == ["*"]
    reading = made["LogDescribeStreamGetRecordsGetShardIterator"]
    assert reading["Resource"] == [f"{ANYWHERE}dev-log/stream/*"]
    assert leading(made["KeyplanCheckpointsQueryPutUpdateDelete"]) == ["dev-log/follow"]
    assert result.stderr == "note: where failed records of log go (dead) is not declared: allow that yourself\n"
    without = statements(run("export", "iam", path, "--no-checkpoints").stdout)
    assert not [sid for sid in without if "Checkpoints" in sid]


def test_a_declared_table_of_failures_may_be_put_into(tmp_path: Path) -> None:
    result = run("export", "iam", design(tmp_path, CONSUMED + FAILURES))
    assert result.stderr == ""
    assert leading(statements(result.stdout)["KeyplanFailuresPut"]) == ["log/follow"]


def test_looking_at_tables_is_allowed_where_it_is_asked_for(tmp_path: Path) -> None:
    path = design(tmp_path, NOTES)
    made = statements(run("export", "iam", path, "--describe").stdout)
    assert made["NotesGetPutDescribeTable"]["Action"][-1] == "dynamodb:DescribeTable"


FAULTY_PATTERN = """
@notes.query(Note, index="by_owner")
def by_time(at: int) -> Cond:
    return sk.lt(at=at)
"""


def test_a_pattern_that_cannot_work_is_told_and_not_allowed(tmp_path: Path) -> None:
    path = design(tmp_path, NOTES + FAULTY_PATTERN)
    assert "note: by_time cannot work as declared, and is not allowed: KP301, " in run("export", "iam", path).stderr
    alone = run("export", "iam", path, "--pattern", "by_time")
    assert (alone.exit_code, alone.stdout) == (1, "")
    assert alone.stderr.endswith("keyplan export iam: nothing is sent, so there is nothing to allow\n")


def many(tables: int) -> str:
    """Tables with long names and keys of their own."""
    one = """
t{n} = Table("a-table-with-a-rather-long-name-{n}", pk="PK")

@t{n}.entity(key=key("KIND-OF-KEY-{n}#{{name}}"))
class E{n}(Entity):
    name: str

@t{n}.get(E{n})
def get_{n}(name: str) -> Key:
    return key_of(name=name)
"""
    return "".join(one.format(n=number) for number in range(tables))


def test_a_policy_that_is_too_long_is_told_and_split(tmp_path: Path) -> None:
    path, target = design(tmp_path, many(40)), tmp_path / "policy.json"
    whole = run("export", "iam", path)
    assert "note: a managed policy holds 6,144 characters without white space, and this has " in whole.stderr
    assert "--split writes several" in whole.stderr
    parts = run("export", "iam", path, "--split", "--output", str(target))
    assert (parts.exit_code, parts.stderr) == (0, "")
    files = sorted(tmp_path.glob("policy-*.json"))
    assert len(files) > 1
    found = [statement for file in files for statement in json.loads(file.read_text())["Statement"]]
    assert found == json.loads(whole.stdout)["Statement"]


def test_several_files_need_a_name(tmp_path: Path) -> None:
    assert run("export", "iam", design(tmp_path, NOTES), "--split").exit_code == 2


@pytest.mark.parametrize("name", NOT_DESIGNS)
def test_what_is_no_design_is_refused(name: str, tmp_path: Path) -> None:
    target, code, text = bad_target(tmp_path, name)
    result = run("export", "iam", target)
    assert (result.exit_code, result.stdout) == (code, "")
    assert text in result.stderr
