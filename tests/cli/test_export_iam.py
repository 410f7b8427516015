"""`keyplan export iam`: a policy printed or written, its options, and its notes on standard error."""

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
def line(line: str) -> ItemKey:
    return item(line=line)

@log.scan(Line)
def lines() -> KeyCondition:
    return everything()

@log.on_change(Line, on_failure="dead")
def follow(change: Inserted[Line]) -> None: ...
"""
FAILURES = """
from keyplan.streams import failure_table
failures = failure_table()
"""
OWN = "${aws:PrincipalTag/line}"
ANYWHERE = "arn:aws:dynamodb:*:*:table/"


def statements(text: str) -> dict[str, Any]:
    return {statement["Sid"]: statement for statement in json.loads(text)["Statement"]}


def leading(statement: dict[str, Any]) -> list[str]:
    leading_keys: list[str] = statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
    return leading_keys


def test_a_policy_is_printed_or_written(tmp_path: Path) -> None:
    path, target = design(tmp_path, NOTES), tmp_path / "policy.json"
    printed = run("export", "iam", path)
    assert (printed.exit_code, printed.stderr) == (0, "")
    assert list(statements(printed.stdout)) == ["NotesGetPut", "NotesByOwnerQuery"]
    result = run("export", "iam", path, "-o", str(target))
    assert target.read_text() == printed.stdout
    assert result.stdout == f"{target}: {len(printed.stdout.splitlines())} lines\n"


def test_arns_contain_region_account_partition_and_prefix(tmp_path: Path) -> None:
    path = design(tmp_path, NOTES)
    options = ("--region", "eu-west-1", "--account", "123456789012", "--partition", "aws-cn", "--prefix", "dev-")
    by_sid = statements(run("export", "iam", path, *options).stdout)
    own = "arn:aws-cn:dynamodb:eu-west-1:123456789012:table/dev-notes"
    assert [statement["Resource"] for statement in by_sid.values()] == [[own], [f"{own}/index/by_owner"]]
    anywhere = statements(run("export", "iam", path).stdout)
    assert anywhere["NotesGetPut"]["Resource"] == [f"{ANYWHERE}notes"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("region", "Ireland"),
        ("region", "eu-west-1a"),
        ("account", "12"),
        ("account", "1234567890123"),
        ("partition", "gcp"),
        ("partition", "aws-"),
        ("prefix", "a b"),
        ("pattern", "missing"),
    ],
)
def test_invalid_policy_options_are_rejected(option: str, value: str, tmp_path: Path) -> None:
    result = run("export", "iam", design(tmp_path, NOTES), f"--{option}", value)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("keyplan export iam: ")
    assert value in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("bound", "problem"),
    [
        ("line", "--bind 'line' has no value: write --bind user_id='${aws:PrincipalTag/user_id}'"),
        ("line=", "--bind 'line=' has no value: write --bind user_id='${aws:PrincipalTag/user_id}'"),
        ("=x", "--bind '=x' has no value: write --bind user_id='${aws:PrincipalTag/user_id}'"),
        ("other=x", "no partition key of these patterns contains other, so it cannot be bound"),
    ],
)
def test_a_binding_without_effect_is_rejected(bound: str, problem: str, tmp_path: Path) -> None:
    result = run("export", "iam", design(tmp_path, CONSUMED), "--bind", bound)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"keyplan export iam: {problem}\n"


def test_a_binding_to_a_number_is_rejected(tmp_path: Path) -> None:
    source = NOTES.replace("note_id: str", "note_id: int")
    result = run("export", "iam", design(tmp_path, source), "--bind", "note_id=7")
    assert result.exit_code == 2
    assert "note_id is part of note_id, which is of type N" in result.stderr


def test_patterns_that_access_every_principal_are_noted(tmp_path: Path) -> None:
    result = run("export", "iam", design(tmp_path, CONSUMED), "--bind", f"line={OWN}", "--no-consumers")
    assert leading(statements(result.stdout)["LogGet"]) == [f"LINE#{OWN}"]
    assert result.stderr == "note: these patterns access partitions of every principal: lines\n"


def test_a_bound_value_may_contain_an_equals_sign(tmp_path: Path) -> None:
    result = run("export", "iam", design(tmp_path, CONSUMED), "--bind", "line=a=b", "--pattern", "line")
    assert leading(statements(result.stdout)["LogGet"]) == ["LINE#a=b"]
    assert result.stderr == ""


BEHIND = """
t = Table("t", pk="PK")

@t.entity(key=key("{kind}#{name}"))
class One(Entity):
    kind: str
    name: str

@t.get(One)
def one(kind: str, name: str) -> ItemKey:
    return item(kind=kind, name=name)

@t.delete(One)
def gone(kind: str, name: str) -> ItemWrite:
    return item(kind=kind, name=name)
"""


def test_a_bound_field_after_other_fields_is_noted_once(tmp_path: Path) -> None:
    result = run("export", "iam", design(tmp_path, BEHIND), "--bind", "name=x")
    assert leading(statements(result.stdout)["TGetDelete"]) == ["*#x"]
    assert (
        result.stderr
        == "note: name follows other fields in {kind}#{name}: other keys with the same ending also match\n"
    )


@pytest.mark.parametrize(("unique", "is_told"), [("", False), (', unique=["email"]', True)])
def test_a_pattern_that_accesses_other_principals_is_noted(unique: str, *, is_told: bool, tmp_path: Path) -> None:
    source = CONSUMED.replace('"LINE#{line}")', f'"LINE#{{line}}"){unique}').replace(
        "line: str\n", "line: str\n    email: str\n", 1
    )
    created = source + "\n@log.create(Line)\ndef begin(line: Line) -> ItemWrite:\n    return item(line)\n"
    result = run("export", "iam", design(tmp_path, created), "--bind", "line.line=x", "--pattern", "begin")
    expected = "note: these patterns access partitions of every principal: begin\n" if is_told else ""
    assert (result.exit_code, result.stderr) == (0, expected)


def test_patterns_are_selected_by_name(tmp_path: Path) -> None:
    path = design(tmp_path, CONSUMED)
    assert list(statements(run("export", "iam", path, "--pattern", "line").stdout)) == ["LogGet"]
    two = run("export", "iam", path, "--pattern", "line", "--pattern", "lines").stdout
    assert list(statements(two)) == ["LogGet", "LogScan"]


def test_consumers_may_read_the_stream_and_write_checkpoints(tmp_path: Path) -> None:
    path = design(tmp_path, CONSUMED)
    result = run("export", "iam", path, "--prefix", "dev-")
    by_sid = statements(result.stdout)
    assert by_sid["ListStreams"]["Resource"] == ["*"]
    reading = by_sid["LogDescribeStreamGetRecordsGetShardIterator"]
    assert reading["Resource"] == [f"{ANYWHERE}dev-log/stream/*"]
    assert leading(by_sid["KeyplanCheckpointsQueryPutUpdateDelete"]) == ["dev-log/follow"]
    assert (
        result.stderr
        == "note: the destination of failed records of log (dead) is not declared: add its permissions yourself\n"
    )
    without = statements(run("export", "iam", path, "--no-checkpoints").stdout)
    assert not [sid for sid in without if "Checkpoints" in sid]


def test_each_undeclared_failure_table_is_noted_once_in_order(tmp_path: Path) -> None:
    consumer = "\n@log.on_change(Line{})\ndef {}(change: Inserted[Line]) -> None: ...\n"
    more = [(', on_failure="late"', "b"), ("", "c"), (', on_failure="again"', "d"), (', on_failure="dead"', "e")]
    path = design(tmp_path, CONSUMED + "".join(consumer.format(*names) for names in more))
    expected = (
        "note: the destination of failed records of log (again, dead, late) is not declared: add its permissions"
        " yourself\n"
    )
    assert run("export", "iam", path).stderr == expected


def test_a_declared_failure_table_allows_puts(tmp_path: Path) -> None:
    result = run("export", "iam", design(tmp_path, CONSUMED + FAILURES))
    assert result.stderr == ""
    assert leading(statements(result.stdout)["KeyplanFailuresPut"]) == ["log/follow"]


def test_describing_tables_is_allowed_on_request(tmp_path: Path) -> None:
    path = design(tmp_path, NOTES)
    by_sid = statements(run("export", "iam", path, "--describe").stdout)
    looks = ["dynamodb:DescribeTable", "dynamodb:DescribeContinuousBackups"]
    assert by_sid["NotesGetPutDescribeTableDescribeContinuousBackups"]["Action"][-2:] == looks


def test_creating_tables_is_allowed_on_request(tmp_path: Path) -> None:
    source = CONSUMED.replace('pk="PK"', 'pk="PK", ttl="until", point_in_time_recovery=True')
    by_sid = statements(run("export", "iam", design(tmp_path, source), "--create").stdout)
    allowed = {
        (action[9:], place)
        for statement in by_sid.values()
        for action in statement["Action"]
        for place in statement["Resource"]
    }
    created = {"DescribeTable", "CreateTable", "DescribeTimeToLive", "UpdateTimeToLive"}
    backups = {"DescribeContinuousBackups", "UpdateContinuousBackups"}
    assert {(action, f"{ANYWHERE}log") for action in created | backups} <= allowed
    assert {(action, f"{ANYWHERE}keyplan-checkpoints") for action in created} <= allowed
    assert not {(action, f"{ANYWHERE}keyplan-checkpoints") for action in backups} & allowed


STREAMED = NOTES.replace('Table("notes",', 'Table("notes", stream="NEW_IMAGE",')


def test_a_stream_without_a_consumer_is_noted_and_read_on_request(tmp_path: Path) -> None:
    path = design(tmp_path, STREAMED)
    result = run("export", "iam", path)
    assert result.stderr == (
        "note: table notes has a stream but no declared consumer: use --consumers to allow reading the stream\n"
    )
    assert "ListStreams" not in statements(result.stdout)
    with_option = run("export", "iam", path, "--consumers")
    by_sid = statements(with_option.stdout)
    assert by_sid["NotesDescribeStreamGetRecordsGetShardIterator"]["Resource"] == [f"{ANYWHERE}notes/stream/*"]
    assert leading(by_sid["KeyplanCheckpointsQueryPutUpdateDelete"]) == ["notes/*"]
    assert with_option.stderr == (
        "note: table notes has a stream but no declared consumer: reading the stream is allowed\n"
    )
    assert run("export", "iam", path, "--no-consumers").stderr == ""


FAULTY_PATTERN = """
@notes.query(Note, index="by_owner")
def by_time(at: int) -> KeyCondition:
    return pk().sk.lt(at=at)
"""


def test_an_invalid_pattern_is_noted_and_not_allowed(tmp_path: Path) -> None:
    path = design(tmp_path, NOTES + FAULTY_PATTERN)
    assert "note: by_time has a fault and gets no permissions: KP301, " in run("export", "iam", path).stderr
    alone = run("export", "iam", path, "--pattern", "by_time")
    assert (alone.exit_code, alone.stdout) == (1, "")
    assert alone.stderr.endswith(
        "keyplan export iam: no permissions to grant: no valid pattern or consumer is selected\n"
    )


def many(tables: int) -> str:
    """Tables with long names and their own keys."""
    table = """
t{n} = Table("a-table-with-a-rather-long-name-{n}", pk="PK")

@t{n}.entity(key=key("KIND-OF-KEY-{n}#{{name}}"))
class E{n}(Entity):
    name: str

@t{n}.get(E{n})
def get_{n}(name: str) -> ItemKey:
    return item(name=name)
"""
    return "".join(table.format(n=number) for number in range(tables))


def test_an_oversized_policy_is_noted_and_split(tmp_path: Path) -> None:
    path, target = design(tmp_path, many(40)), tmp_path / "policy.json"
    result = run("export", "iam", path)
    assert "characters without white space, but a managed policy may have at most 6,144: " in result.stderr
    assert "use --split to write several policies" in result.stderr
    parts = run("export", "iam", path, "--split", "--output", str(target))
    assert (parts.exit_code, parts.stderr) == (0, "")
    files = sorted(tmp_path.glob("policy-*.json"))
    assert len(files) > 1
    assert [file.name for file in files] == [f"policy-{number}.json" for number in range(1, len(files) + 1)]
    actual_files = [statement for file in files for statement in json.loads(file.read_text())["Statement"]]
    assert actual_files == json.loads(result.stdout)["Statement"]


def test_a_policy_may_have_the_size_of_a_managed_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, target = design(tmp_path, NOTES), tmp_path / "policy.json"
    printed = run("export", "iam", path).stdout
    length = len("".join(printed.split()))
    monkeypatch.setattr("keyplan.export.iam.MANAGED_POLICY_CHARACTERS", length)
    assert run("export", "iam", path).stderr == ""
    assert run("export", "iam", path, "--split", "-o", str(target)).stderr == ""
    assert target.read_text() == printed
    monkeypatch.setattr("keyplan.export.iam.MANAGED_POLICY_CHARACTERS", length - 1)
    assert (
        f"has {length:,} characters without white space, but a managed policy may have at most {length - 1:,}"
        in run("export", "iam", path).stderr
    )


def test_several_files_need_a_name(tmp_path: Path) -> None:
    assert run("export", "iam", design(tmp_path, NOTES), "--split").exit_code == 2


@pytest.mark.parametrize("name", NOT_DESIGNS)
def test_a_target_that_is_not_a_design_is_rejected(name: str, tmp_path: Path) -> None:
    target, code, text = bad_target(tmp_path, name)
    result = run("export", "iam", target)
    assert (result.exit_code, result.stdout) == (code, "")
    assert text in result.stderr
