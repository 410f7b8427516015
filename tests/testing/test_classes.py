"""Classes of tests, decorated: collected, answered, each test with a fresh start."""

from __future__ import annotations

import gc
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import boto3
import pytest

from keyplan import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.testing import answered_by

pytest_plugins = ["pytester"]

CREDENTIALS: dict[str, Any] = {
    "region_name": "us-east-1",
    "aws_access_key_id": "id",
    "aws_secret_access_key": "secret",
}
TABLE: dict[str, Any] = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
}
SUITES = """
    import asyncio
    import unittest
    import boto3
    import pytest
    from keyplan import Engine
    from keyplan.testing import answered_by

    client = boto3.client("dynamodb", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    engine = Engine.memory()

    def make(name):
        client.create_table(
            TableName=name, BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )

    def tables():
        return client.list_tables()["TableNames"]

    class Inherited:
        def test_inherited(self):
            assert tables() == self.there
            make("inherited")

    @answered_by(Engine.memory())
    class TestOfPytest(Inherited):
        there = ["class", "setup"]

        @classmethod
        def setup_class(cls):
            make("class")

        def setup_method(self):
            make("setup")

        def teardown_method(self, method):
            assert tables() or method.__name__ == "test_static"

        def test_one(self):
            assert tables() == ["class", "setup"]
            make("one")

        @pytest.mark.parametrize("name", ["aaa", "bbb"])
        def test_two(self, name, tmp_path):
            make(name)
            assert tables() == [name, "class", "setup"]

        @staticmethod
        def test_static():
            assert tables() == ["class"]

        def test_that_fails(self):
            assert False, "it must fail"

    @answered_by(engine)
    class TestOutside:
        class TestNested:
            def test_nested(self):
                assert tables() == []

    @answered_by(engine)
    class OfUnittest(Inherited, unittest.TestCase):
        there = []

        def test_one(self):
            self.addCleanup(lambda: self.assertEqual(tables(), ["one"]))
            self.assertEqual(tables(), [])
            make("one")

        def test_two(self):
            self.assertEqual(tables(), [])
            make("two")

        def test_that_fails(self):
            self.fail("it must fail")

    @answered_by(engine)
    class OfCoroutines(unittest.IsolatedAsyncioTestCase):
        async def asyncSetUp(self):
            make("setup")

        async def test_one(self):
            await asyncio.sleep(0)
            self.assertEqual(tables(), ["setup"])
            make("one")

        async def test_two(self):
            self.assertEqual(tables(), ["setup"])
            make("two")

        async def test_that_fails(self):
            self.fail("it must fail")
"""


def test_pytest_collects_the_suites_and_counts_their_failures(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITES)
    result = pytester.runpytest_inprocess("-p", "no:xdist", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=11, failed=3)


def test_unittest_collects_the_suites_and_counts_their_failures(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(suites=SUITES)
    result = pytester.run(sys.executable, "-m", "unittest", "suites")
    result.stderr.fnmatch_lines(["Ran 7 tests*", "FAILED (failures=2)"])


def client() -> Any:
    return boto3.client("dynamodb", **CREDENTIALS)


def tables() -> list[str]:
    names: list[str] = client().list_tables()["TableNames"]
    return names


def make(name: str) -> None:
    client().create_table(TableName=name, **TABLE)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.memory() as engine:
        yield engine


def outcome(suite: type[unittest.TestCase]) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(suite).run(result)
    return result


def test_class_level_setup_is_visible_in_each_test(engine: Engine) -> None:
    @answered_by(engine)
    class Suite(unittest.TestCase):
        @classmethod
        def setUpClass(cls) -> None:
            make("shared")

        def setUp(self) -> None:
            assert tables() == ["shared"]
            make("own")

        def test_one(self) -> None:
            client().put_item(TableName="own", Item={"id": {"S": "x"}})

        def test_two(self) -> None:
            assert client().scan(TableName="own")["Count"] == 0

    result = outcome(Suite)
    assert (result.testsRun, result.errors, result.failures) == (2, [], [])
    assert engine.call("ListTables", {})["TableNames"] == ["shared"], "the engine itself is as the class left it"


def test_a_subclass_is_answered_by_its_own_engine(engine: Engine) -> None:
    engine.call("CreateTable", {"TableName": "of-base", **TABLE})

    @answered_by(engine)
    class Base(unittest.TestCase):
        wanted: ClassVar = ["of-base"]

        def test_tables(self) -> None:
            assert tables() == self.wanted

    with Engine.memory() as another:
        another.call("CreateTable", {"TableName": "of-derived", **TABLE})

        @answered_by(another)
        class Derived(Base):
            wanted: ClassVar = ["of-derived"]

        class Plain(Base):
            pass

        for suite in (Base, Derived, Plain):
            result = outcome(suite)
            assert (result.testsRun, result.errors, result.failures) == (1, [], [])


def test_the_class_is_not_replaced_and_an_instance_shares_one_copy(engine: Engine) -> None:
    class Suite:
        def write(self) -> None:
            make("mine")

        def read(self) -> list[str]:
            return tables()

    decorated = answered_by(engine)(Suite)
    assert decorated is Suite
    first, second = decorated(), decorated()
    first.write()
    assert (first.read(), second.read()) == (["mine"], [])
    copy = vars(first)["_keyplan_answering"][1]
    del first
    gc.collect()
    with pytest.raises(Exception, match="closed"):
        copy.call("ListTables", {})


def test_an_engine_without_copy_answers_every_test_itself(scripted: Any) -> None:
    @answered_by(scripted({"TableNames": ["a"]}))
    class Suite:
        def read(self) -> list[str]:
            return tables()

    assert Suite().read() == ["a"]


def test_each_test_has_the_faults_and_buckets_of_the_engine(tmp_path: Path) -> None:
    options: dict[str, Any] = {"state_delay_s": 5.0, "faults": Faults(seed=1, ttl_delay=2.0), "buckets": tmp_path}
    with Engine.memory(**options) as engine:

        @answered_by(engine)
        class Suite:
            def read(self) -> list[str]:
                return tables()

        suite = Suite()
        assert suite.read() == []
        copy = vars(suite)["_keyplan_answering"][1]
        assert copy is not engine
        assert copy.faults.faults == options["faults"]
        assert copy.buckets is engine.buckets
        assert (copy.database.settings.state_delay_s, copy.database.settings.ttl_delay_s) == (5.0, 2.0)
