"""The pytest plugin, run on small test files."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

pytest_plugins = ["pytester"]

# Where keyplan is installed, pytest has loaded its plugin already.
PLUGIN = (
    ()
    if any(entry_point.name == "keyplan" for entry_point in entry_points(group="pytest11"))
    else ("-p", "keyplan.testing.plugin")
)

TABLE = """
    def create_table(engine):
        engine.call(
            "CreateTable",
            {
                "TableName": "things",
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
"""


class Loaded:
    """Remembers the modules that a run has loaded: pytest forgets them, and later tests would load them once more."""

    def pytest_unconfigure(self) -> None:
        self.modules = {name: module for name, module in sys.modules.items() if not name.startswith("test_")}


def run(pytester: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(TABLE + source)
    loaded = Loaded()
    result = pytester.runpytest_inprocess(*PLUGIN, "--strict-markers", *arguments, plugins=[loaded])
    sys.modules.update({**loaded.modules, **sys.modules})
    return result


def test_loading_the_plugin_loads_nothing_else() -> None:
    script = (
        "import sys, pytest; before = set(sys.modules); import keyplan.testing.plugin;"
        "print(sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['keyplan']"


def test_every_test_has_a_fresh_engine(pytester: pytest.Pytester) -> None:
    source = """
    import pytest

    @pytest.mark.parametrize("turn", [1, 2])
    def test_fresh(engine, keyplan_engine, turn):
        assert engine is keyplan_engine
        assert engine.call("ListTables", {})["TableNames"] == []
        create_table(engine)
    """
    run(pytester, source).assert_outcomes(passed=2)


def test_the_engine_is_closed_after_the_test(pytester: pytest.Pytester) -> None:
    source = """
    import pytest
    from keyplan.errors import EngineClosedError

    kept = []

    def test_first(engine):
        kept.append(engine)

    def test_second():
        with pytest.raises(EngineClosedError):
            kept[0].call("ListTables", {})
    """
    run(pytester, source).assert_outcomes(passed=2)


def test_every_test_has_a_copy_of_the_template(pytester: pytest.Pytester) -> None:
    source = """
    import pytest
    from keyplan.engine.engine import Engine

    made = []

    @pytest.fixture(scope="session")
    def engine_template():
        with Engine.memory() as engine:
            made.append(engine)
            create_table(engine)
            engine.call("PutItem", {"TableName": "things", "Item": {"id": {"S": "template"}}})
            yield engine

    @pytest.mark.parametrize("turn", [1, 2, 3])
    def test_copy(engine, dynamodb_client, turn):
        assert dynamodb_client.scan(TableName="things")["Count"] == 1
        dynamodb_client.put_item(TableName="things", Item={"id": {"S": "test"}})
        assert dynamodb_client.scan(TableName="things")["Count"] == 2
        assert engine is not made[0]
        assert len(made) == 1
    """
    run(pytester, source).assert_outcomes(passed=3)


def test_the_marker_passes_engine_options(pytester: pytest.Pytester) -> None:
    source = """
    import pytest
    from keyplan.clock import ManualClock

    clock = ManualClock()

    @pytest.mark.keyplan(clock=clock)
    def test_option(engine):
        assert engine.clock is clock
    """
    run(pytester, source).assert_outcomes(passed=1)


def test_clients_reach_the_engine(pytester: pytest.Pytester) -> None:
    source = """
    def test_all(engine, dynamodb_client, dynamodb_resource, dynamodbstreams_client):
        create_table(engine)
        dynamodb_client.put_item(TableName="things", Item={"id": {"S": "7"}})
        assert dynamodb_resource.Table("things").get_item(Key={"id": "7"})["Item"] == {"id": "7"}
        assert dynamodbstreams_client.list_streams()["Streams"] == []
    """
    run(pytester, source).assert_outcomes(passed=1)


def test_changes_to_a_client_end_with_the_test(pytester: pytest.Pytester) -> None:
    source = """
    heard = []

    def test_first(dynamodb_client):
        dynamodb_client.meta.events.register("after-call.dynamodb", lambda **_: heard.append(1))
        dynamodb_client.list_tables()
        assert heard == [1]

    def test_second(dynamodb_client):
        dynamodb_client.list_tables()
        assert heard == [1]
    """
    run(pytester, source).assert_outcomes(passed=2)


def test_clients_created_by_tested_code_are_answered(pytester: pytest.Pytester) -> None:
    source = """
    import boto3

    def test_answered(dynamodb_answered):
        create_table(dynamodb_answered)
        table = boto3.resource("dynamodb").Table("things")
        table.put_item(Item={"id": "7"})
        assert table.get_item(Key={"id": "7"})["Item"] == {"id": "7"}
    """
    run(pytester, source).assert_outcomes(passed=1)


def test_the_endpoint_serves_the_same_engine(pytester: pytest.Pytester) -> None:
    source = """
    import boto3

    def test_endpoint(engine, dynamodb_endpoint):
        create_table(engine)
        client = boto3.client(
            "dynamodb", endpoint_url=dynamodb_endpoint, region_name="eu-west-1",
            aws_access_key_id="id", aws_secret_access_key="secret",
        )
        assert client.list_tables()["TableNames"] == ["things"]
        client.close()
    """
    run(pytester, source).assert_outcomes(passed=1)


def test_xdist_workers_are_independent(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    source = """
    import pytest

    @pytest.mark.parametrize("turn", range(6))
    def test_fresh(engine, dynamodb_client, turn):
        assert dynamodb_client.list_tables()["TableNames"] == []
        create_table(engine)
    """
    run(pytester, source, "-n", "2").assert_outcomes(passed=6)
