"""`keyplan export`: tables as infrastructure, printed or written, and what keeps them from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.running import FAULTY, NOT_DESIGNS, NOTES, bad_target, design, run

FORMATS = ("cloudformation", "terraform", "cdk-json")
CONSUMED = """
log = Table("log", pk="PK", stream="NEW_IMAGE")

@log.entity(key=key("LINE#{line}"))
class Line(Entity):
    line: str

@log.on_change(Line, on_failure="dead")
def follow(change: Inserted[Line]) -> None: ...
"""
NOTE = "note: consumers of log (follow) run in a keyplan.streams.Runner: they are not exported, and neither are"


def tables_in(format: str, text: str) -> list[str]:
    """Return the names of the tables in a document."""
    document = json.loads(text)
    if format == "cloudformation":
        return [resource["Properties"]["TableName"] for resource in document["Resources"].values()]
    if format == "terraform":
        return [table["name"] for table in document["resource"]["aws_dynamodb_table"].values()]
    return [table["TableName"] for table in document["tables"]]


@pytest.mark.parametrize("format", FORMATS)
def test_a_document_is_printed(format: str, tmp_path: Path) -> None:
    result = run("export", format, design(tmp_path, NOTES))
    assert result.exit_code == 0
    assert tables_in(format, result.stdout) == ["notes"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_document_is_written_to_a_file(format: str, tmp_path: Path) -> None:
    path, target = design(tmp_path, NOTES), tmp_path / "tables.json"
    printed = run("export", format, path).stdout
    result = run("export", format, path, "--output", str(target))
    assert result.exit_code == 0
    assert target.read_text() == printed
    assert result.stdout == f"{target}: {len(printed.splitlines())} lines\n"


@pytest.mark.parametrize("format", FORMATS)
def test_export_is_deterministic(format: str, tmp_path: Path) -> None:
    path = design(tmp_path, NOTES + CONSUMED)
    assert run("export", format, path).stdout == run("export", format, path).stdout


@pytest.mark.parametrize("format", FORMATS)
def test_consumers_get_a_checkpoint_table(format: str, tmp_path: Path) -> None:
    path = design(tmp_path, CONSUMED)
    result = run("export", format, path)
    assert tables_in(format, result.stdout) == ["log", "keyplan-checkpoints"]
    assert NOTE in result.stderr
    assert tables_in(format, run("export", format, path, "--no-checkpoints").stdout) == ["log"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_stream_without_a_consumer_is_noted_and_gets_checkpoints_on_request(format: str, tmp_path: Path) -> None:
    path = design(tmp_path, NOTES.replace('Table("notes",', 'Table("notes", stream="NEW_IMAGE",'))
    expected = (
        "note: table notes has a stream but no declared consumer: use --checkpoints to include the table"
        " keyplan-checkpoints\n"
    )
    result = run("export", format, path)
    assert tables_in(format, result.stdout) == ["notes"]
    assert expected in result.stderr
    with_option = run("export", format, path, "--checkpoints")
    assert tables_in(format, with_option.stdout) == ["notes", "keyplan-checkpoints"]
    assert expected not in with_option.stderr


def test_several_tables_with_consumers_share_one_checkpoint_table(tmp_path: Path) -> None:
    result = run("export", "terraform", design(tmp_path, NOTES + CONSUMED))
    assert tables_in("terraform", result.stdout) == ["notes", "log", "keyplan-checkpoints"]


def test_settings_missing_from_the_file_or_the_cdk_app_are_noted(tmp_path: Path) -> None:
    of_file, *of_app = run("export", "cdk-json", design(tmp_path, NOTES + CONSUMED)).stderr.splitlines()
    assert of_file.startswith(NOTE)
    assert of_app == [
        "note: the generated CDK app declares table notes without point-in-time recovery",
        "note: the generated CDK app declares table log without the stream",
    ]


def test_a_declared_checkpoint_table_is_not_written_twice(tmp_path: Path) -> None:
    source = "from keyplan.streams import checkpoint_table\nmarks = checkpoint_table()\n" + CONSUMED
    result = run("export", "terraform", design(tmp_path, source))
    assert tables_in("terraform", result.stdout) == ["keyplan-checkpoints", "log"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_prefix_is_added_to_every_name(format: str, tmp_path: Path) -> None:
    result = run("export", format, design(tmp_path, CONSUMED), "--prefix", "dev-")
    assert tables_in(format, result.stdout) == ["dev-log", "dev-keyplan-checkpoints"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("prefix", ["a b", "x" * 253, "ä"])
def test_an_invalid_prefix_is_rejected(prefix: str, format: str, tmp_path: Path) -> None:
    result = run("export", format, design(tmp_path, CONSUMED), "--prefix", prefix)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"keyplan export {format}: a table name cannot start with {prefix!r}\n"


@pytest.mark.parametrize("format", FORMATS)
def test_invalid_tables_are_rejected_with_every_fault(format: str, tmp_path: Path) -> None:
    second = '\nodd = Table("odd", pk="pk", stream="UNSTATED", ttl=["one", "two"])\n'
    target = tmp_path / "tables.json"
    result = run("export", format, design(tmp_path, FAULTY + second), "-o", str(target))
    assert (result.exit_code, result.stdout) == (1, "")
    assert [code for code in ("KP101", "KP703", "KP710") if f"error[{code}]" in result.stderr] == [
        "KP101",
        "KP703",
        "KP710",
    ]
    assert not target.exists()


def test_a_model_of_nosql_workbench_is_written_and_imported_again(tmp_path: Path) -> None:
    target, again = tmp_path / "model.json", tmp_path / "again.py"
    result = run("export", "nosql-workbench", design(tmp_path, NOTES + CONSUMED), "-o", str(target))
    assert (result.exit_code, json.loads(target.read_text())["ModelName"]) == (0, "plan")
    assert result.stderr.splitlines() == [
        "note: the model of table notes does not contain point-in-time recovery",
        "note: the model of table log does not contain the stream",
    ]
    assert run("import", "nosql-workbench", str(target), "-o", str(again)).exit_code == 0
    assert run("check", str(again)).exit_code == 0


def test_tables_with_the_same_cdk_variable_name_are_rejected_for_cdk_only(tmp_path: Path) -> None:
    path = design(tmp_path, 'one = Table("to-do", pk="pk")\ntwo = Table("to_do", pk="pk")\n')
    refused = run("export", "cdk-json", path)
    assert refused.exit_code == 1
    assert "error[KP109]: tables to-do and to_do have the same variable name in the CDK app" in refused.stderr
    assert run("export", "terraform", path).exit_code == 0


@pytest.mark.parametrize("name", NOT_DESIGNS)
def test_a_target_that_is_not_a_design_is_rejected(name: str, tmp_path: Path) -> None:
    target, code, text = bad_target(tmp_path, name)
    result = run("export", "cloudformation", target)
    assert result.exit_code == code
    assert text in result.stderr
    assert result.stdout == ""


def test_an_unwritable_file_is_an_error(tmp_path: Path) -> None:
    result = run("export", "terraform", design(tmp_path, NOTES), "-o", str(tmp_path / "no" / "tables.tf.json"))
    assert result.exit_code == 1
    assert result.stderr.startswith("keyplan export terraform: ")
    assert "cannot be written: No such file or directory" in result.stderr


def test_an_unknown_format_is_rejected() -> None:
    result = run("export", "pulumi", "plan.py")
    assert result.exit_code == 2
    assert "No such command 'pulumi'" in result.stderr
