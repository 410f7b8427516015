"""`keyplan import`: designs made of files, of standard input and of what is served."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.running import run
from tests.sdk import alone
from typer.testing import CliRunner

from keyplan.cli.importing import nosql_workbench
from keyplan.cli.main import app
from keyplan.engine.engine import Engine
from keyplan.server.thread import ThreadedServer

HERE = Path(__file__).parent.parent / "importers"
TEMPLATE, MODEL = str(HERE / "shelves.yaml"), str(HERE / "shop.json")
TABLE: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def test_a_design_is_printed_with_notes_on_omitted_settings() -> None:
    result = run("import", "cloudformation", TEMPLATE)
    assert result.exit_code == 0
    assert result.stdout == (HERE / "shelves.py").read_text()
    entries = [
        "books-prod: DeletionPolicy Retain: deletion policies are not part of a design",
        "books-prod: SSESpecification: encryption is not part of a design",
        "Drafts: TableName is missing: CloudFormation generates a name; the logical ID is used here",
    ]
    assert result.stderr.splitlines() == [f"keyplan import cloudformation: {gap}" for gap in entries]


def test_a_design_is_written_to_a_file_and_replaces_one_only_with_force(tmp_path: Path) -> None:
    target = tmp_path / "design.py"
    command = ("import", "nosql-workbench", MODEL, "-o", str(target))
    assert run(*command).stdout == f"{target}: {len((HERE / 'shop.py').read_text().splitlines())} lines\n"
    target.write_text("mine")
    refused = run(*command)
    assert (refused.exit_code, target.read_text()) == (2, "mine")
    assert refused.stderr == (f"keyplan import nosql-workbench: {target} already exists: use --force to overwrite it\n")
    assert run(*command, "--force").exit_code == 0
    assert target.read_text() == (HERE / "shop.py").read_text()


@pytest.mark.slow  # runs every command
@pytest.mark.parametrize("command", ["check", "docs", "price", "verify"])
@pytest.mark.parametrize("name", ["shelves.py", "shop.py"])
def test_every_command_accepts_an_imported_design(command: str, name: str) -> None:
    assert run(command, str(HERE / name)).exit_code == 0


def test_electrodb_schemas_are_imported_into_a_named_table(tmp_path: Path) -> None:
    target = tmp_path / "tasks.py"
    result = run("import", "electrodb", str(HERE / "electrodb.json"), "--table", "tasks", "-o", str(target))
    assert result.exit_code == 0
    assert 'tasks = Table(\n    "tasks",' in target.read_text()
    assert run("check", str(target)).exit_code == 0


def test_pynamodb_models_are_imported_from_files_and_standard_input(tmp_path: Path) -> None:
    source, target = tmp_path / "models.py", tmp_path / "design.py"
    source.write_text(
        "class Note(Model):\n    class Meta:\n        table_name = 'notes'\n        billing_mode = 'PAY_PER_REQUEST'\n"
        "    id = UnicodeAttribute(hash_key=True)\n    text = UnicodeAttribute()\n"
    )
    result = run("import", "pynamodb", str(source), "-o", str(target))
    assert (result.exit_code, result.stderr) == (0, "")
    assert run("check", str(target)).exit_code == 0
    piped = CliRunner().invoke(app, ["import", "pynamodb", "-"], input=source.read_text())
    assert piped.stdout.startswith('"""Tables of standard input, models of PynamoDB."""\n')


def test_every_pattern_is_explained() -> None:
    for name in ("get_books_prod", "put_books_prod", "delete_books_prod", "list_books_prod_by_reader"):
        assert run("explain", f"{HERE / 'shelves.py'}:{name}").exit_code == 0


def test_template_parameters_are_applied() -> None:
    result = run("import", "cloudformation", TEMPLATE, "--parameter", "Stage=dev")
    assert 'books_dev = Table(\n    "books-dev",' in result.stdout
    assert "billing=OnDemand()" in result.stdout


def test_the_value_of_a_parameter_may_contain_an_equals_sign() -> None:
    result = run("import", "cloudformation", TEMPLATE, "--parameter", "Stage=a=b")
    assert "TableName cannot be determined, so the logical ID is used: 'books-a=b' is not a table name" in result.stderr


def test_omitted_resources_of_the_template_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    resource = {"Type": "AWS::DynamoDB::Table", "Properties": {**TABLE, "TableName": "things", "Tags": []}}
    conditions = {"No": {"Fn::Equals": ["a", "b"]}}
    resources = {"A": resource, "B": {**resource, "Condition": "No"}}
    path.write_text(json.dumps({"Conditions": conditions, "Resources": resources}))
    assert run("import", "cloudformation", str(path)).stderr.splitlines() == [
        "keyplan import cloudformation: Resources.B is not created: its condition No is false",
        "keyplan import cloudformation: things: Tags: tags are not part of a design",
    ]


def test_a_process_without_standard_input_reads_files_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(typer.Exit) as ended:
        nosql_workbench(["-"])
    assert ended.value.exit_code == 2
    assert capsys.readouterr().err == "keyplan import nosql-workbench: standard input is closed\n"
    nosql_workbench([MODEL])
    assert capsys.readouterr().out == (HERE / "shop.py").read_text()


def test_standard_input_is_read() -> None:
    described = {"Table": {**TABLE, "TableName": "users", "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}}
    result = CliRunner().invoke(app, ["import", "describe-table", "-"], input=json.dumps(described))
    assert result.stdout.startswith('"""Tables of standard input, in the form of DescribeTable."""\n')


def served(engine: Engine) -> None:
    engine.call("CreateTable", {**TABLE, "TableName": "users", "Tags": [{"Key": "team", "Value": "x"}]})
    engine.call("CreateTable", {**TABLE, "TableName": "orders"})
    expiry = {"Enabled": True, "AttributeName": "gone_at"}
    engine.call("UpdateTimeToLive", {"TableName": "orders", "TimeToLiveSpecification": expiry})
    backups = {"PointInTimeRecoveryEnabled": True}
    engine.call("UpdateContinuousBackups", {"TableName": "orders", "PointInTimeRecoverySpecification": backups})


def test_tables_are_read_from_an_endpoint(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    alone(monkeypatch, tmp_path_factory)
    with Engine.memory() as engine, ThreadedServer(engine) as server:
        served(engine)
        every = run("import", "describe-table", "--from", server.url)
        result = run("import", "describe-table", "--from", server.url, "users")
        none = run("import", "describe-table", "--from", server.url, "nothing")
    assert every.exit_code == 0
    orders = every.stdout.partition("orders = Table(")[2].partition("\n)\n")[0]
    assert 'ttl="gone_at"' in orders
    assert "point_in_time_recovery=True" in orders
    assert every.stderr == "keyplan import describe-table: users: Tags: tags are not part of a design\n"
    assert "orders" not in result.stdout
    assert (none.exit_code, none.stdout) == (2, "")
    assert "Requested resource not found: Table: nothing not found" in none.stderr


def test_tables_are_read_from_a_database_file(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with Engine.open(str(path)) as engine:
        served(engine)
    result = run("import", "describe-table", "--from", f"{path}?table_prefix=or", "ders")
    assert result.stdout.startswith('"""Tables of data.db, in the form of DescribeTable.')
    assert "orders = Table(" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("describe-table",), "missing argument: pass a file name, or - for standard input"),
        (("describe-table", "--from", "no.db"), "--from no.db: file not found"),
        (("describe-table", "--from", "ftp://x"), "--from ftp://x: 'ftp://x' is not supported"),
        (("describe-table", MODEL), "shop.json is not output of aws dynamodb describe-table: it looks like a NoSQL"),
        (("cloudformation", MODEL), "shop.json is not a CloudFormation template: it looks like a NoSQL Workbench"),
        (("nosql-workbench", TEMPLATE), "shelves.yaml is not a NoSQL Workbench model: it looks like a CloudFormation"),
        (("pynamodb", TEMPLATE), "shelves.yaml is not Python: "),
        (("electrodb", MODEL), "shop.json is not a schema of ElectroDB: it looks like a NoSQL Workbench model"),
        (("cloudformation", "missing.yaml"), "missing.yaml cannot be read: No such file or directory"),
        (("cloudformation", str(HERE)), "Is a directory"),
        (("cloudformation", TEMPLATE, "--parameter", "Stage"), "--parameter Stage: write it as NAME=VALUE"),
        (("cloudformation", TEMPLATE, "--parameter", "=x"), "--parameter =x: write it as NAME=VALUE"),
        (("cloudformation", TEMPLATE, "--parameter", "X=1"), "unknown parameter; known parameters: Kms, Stage"),
        (("cloudformation", TEMPLATE, TEMPLATE), "two tables are called 'books-prod'"),
    ],
)
def test_an_import_error_is_printed_on_one_line(arguments: tuple[str, ...], problem: str) -> None:
    result = run("import", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"keyplan import {arguments[0]}: ")
    assert problem in result.stderr


# Where it ends depends on Python's version: from 3.12 on 600 levels of a table are read.
_TOO_DEEP = ("t.json is nested too deeply to be read", "a table definition is nested too deeply")
_READ = "t.json: Resources.T.Properties: AttributeDefinitions is missing"


@pytest.mark.parametrize(("deep", "problems"), [(600, (*_TOO_DEEP, _READ)), (3_000, _TOO_DEEP)])
def test_a_table_that_is_nested_too_deeply_is_rejected(deep: int, problems: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    nested = '{"a": ' * deep + "1" + "}" * deep
    path.write_text(f'{{"Resources": {{"T": {{"Type": "AWS::DynamoDB::Table", "Properties": {nested}}}}}}}')
    result = run("import", "cloudformation", str(path))
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr in {f"keyplan import cloudformation: {problem}\n" for problem in problems}


def test_a_binary_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b"\xff\xfe{")
    assert run("import", "cloudformation", str(path)).stderr.endswith("t.json is not UTF-8 text\n")


def test_an_unwritable_path_is_an_error(tmp_path: Path) -> None:
    result = run("import", "nosql-workbench", MODEL, "-o", str(tmp_path / "no" / "design.py"))
    assert result.exit_code == 1
    assert "cannot be written" in result.stderr


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
            f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in pairwise("abcdefg")
        ), "it has more than 1,000,000 values"),
        ("a: 0x" + "f" * 5_000 + "\n", "is not YAML"),
        ("a: {b: 1, b: 2}\n", "duplicate key 'b'"),
        ("? [a]\n: 1\n", "a mapping key is not a scalar"),
    ],
)  # fmt: skip
def test_invalid_or_oversized_yaml_is_rejected_on_one_line(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(text)
    result = run("import", "cloudformation", str(path))
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert problem in result.stderr


def test_keys_of_a_merged_mapping_can_be_overridden() -> None:
    from keyplan.importers.yaml_text import load  # noqa: PLC0415 - needs the extra

    assert load("t", "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n")["b"] == {"x": 1, "y": 3}


def test_an_empty_file_is_not_a_database_and_stays_empty(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    path.touch()
    result = run("import", "describe-table", "--from", str(path))
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "no tables found" in result.stderr
    assert path.stat().st_size == 0


def test_an_unreachable_endpoint_is_reported() -> None:
    result = run("import", "describe-table", "--from", "http://127.0.0.1:1")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "Could not connect to the endpoint URL" in result.stderr


def test_a_file_name_that_is_too_long_is_reported_on_one_line() -> None:
    result = run("check", "x" * 5_000 + ".py")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "File name too long" in result.stderr
