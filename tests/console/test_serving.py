"""The console as a command and as a part of `keyplan serve`, in separate processes."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import httpx
import pytest
from tests.console.data import create, put

from keyplan.console import Source
from keyplan.console.data.code import code_of
from keyplan.console.data.facts import describe
from keyplan.console.data.search import AttributeFilter, Search
from keyplan.engine.engine import Engine
from keyplan.server.thread import ThreadedServer

RUN = [sys.executable, "-m", "keyplan"]


@pytest.fixture
def started() -> Iterator[Callable[..., tuple[str, subprocess.Popen[str]]]]:
    """Yield a function that starts a command and returns its console's URL, with the token, and the process."""
    with ExitStack() as stack:

        def start(*arguments: str) -> tuple[str, subprocess.Popen[str]]:
            process = subprocess.Popen([*RUN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            stack.callback(process.communicate)
            stack.callback(process.kill)
            assert process.stdout is not None
            for line in process.stdout:
                url = re.search(r"http://\S+/console/\?token=\S+", line)
                if url:
                    return url[0], process
            raise AssertionError("no URL was printed")

        yield start


@contextmanager
def visitor(url: str) -> Iterator[httpx.Client]:
    """Yield a client that has opened the link with the token."""
    with httpx.Client(base_url=f"http://{urlsplit(url).netloc}", timeout=60) as client:
        assert client.get(url).status_code == 303
        yield client


@contextmanager
def client_of(url: str) -> Iterator[Any]:
    """Yield a boto3 client of the server."""
    client = boto3.client(
        "dynamodb",
        endpoint_url=f"http://{urlsplit(url).netloc}",
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
    )
    yield client
    client.close()


def test_a_served_database_has_a_console_next_to_the_protocol(
    started: Callable[..., tuple[str, subprocess.Popen[str]]],
) -> None:
    url, process = started("serve", "--db", ":memory:", "--port", "0", "--sample")
    with client_of(url) as client, visitor(url) as visit, httpx.Client(timeout=60) as stranger:
        assert client.list_tables()["TableNames"] == ["sample-films"]
        home = url.partition("?")[0]
        assert stranger.get(home.removesuffix("console/")).text.startswith("healthy")
        assert stranger.get(home).status_code == 401
        assert "sample-films" in visit.get("/console/data/").text
        assert client.scan(TableName="sample-films", Select="COUNT")["Count"] == 10
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert out.splitlines()[-1].startswith("keyplan serve: stopped")
    assert process.returncode == 0


def test_the_code_of_a_served_database_runs_as_it_is_shown(
    started: Callable[..., tuple[str, subprocess.Popen[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    url, _ = started("serve", "--db", ":memory:", "--port", "0", "--sample")
    with visitor(url) as visit:
        text = visit.get("/console/data/tables/sample-films/?pk=Fritz+Lang").text
    boto3_code, cli_code = (
        html.unescape(code) for code in re.findall(r"<code>(.*?)</code></pre>", text, re.DOTALL)[:2]
    )
    names: dict[str, Any] = {}
    exec(boto3_code, names)
    assert names["response"]["Count"] == 2
    names["client"].close()
    assert f"--region us-east-1 --endpoint-url http://{urlsplit(url).netloc}" in cli_code


def test_the_code_of_a_file_says_that_the_database_has_no_endpoint(
    started: Callable[..., tuple[str, subprocess.Popen[str]]],
) -> None:
    url, _ = started(
        "console", str(Path(__file__).parents[2] / "examples" / "tasks.py"), "--db", ":memory:", "--port", "0"
    )
    with visitor(url) as visit:
        assert "This database has no endpoint." in visit.get("/console/data/partiql?statement=SELECT+1&run=yes").text
        command = "--region us-east-1 --endpoint-url http://127.0.0.1:8000"
        assert command in visit.get("/console/design/patterns/tasks_due").text


def test_a_served_database_records_load_before_the_first_visit(
    started: Callable[..., tuple[str, subprocess.Popen[str]]],
) -> None:
    url, _ = started("serve", "--db", ":memory:", "--port", "0", "--sample")
    key = {"director": {"S": "Akira Kurosawa"}, "year": {"N": "1950"}}
    with client_of(url) as client:
        for _ in range(3):
            client.get_item(TableName="sample-films", Key=key)
    with visitor(url) as visit:
        text = visit.get("/console/load/?span=1h").text
        assert "3 in 1 hour" in text
        assert "GetItem" in text
        assert "Akira Kurosawa" in visit.get("/console/load/partitions").text
        visit.get("/console/data/tables/sample-films/")
        assert "3 in 1 hour" in visit.get("/console/load/?span=1h").text, "the console's own requests are not counted"


def test_a_console_shows_the_design_of_a_changed_file(
    started: Callable[..., tuple[str, subprocess.Popen[str]]], tmp_path: Path
) -> None:
    design = tmp_path / "tasks.py"
    text = (Path(__file__).parents[2] / "examples" / "tasks.py").read_text()
    design.write_text(text)
    url, _ = started("console", str(design), "--db", ":memory:", "--port", "0")
    with visitor(url) as visit:
        assert "tasks_due" in visit.get("/console/design/patterns").text
        design.write_text(text.replace("tasks_due", "due_soon"))
        assert "due_soon" in visit.get("/console/design/patterns").text
        design.write_text(text.replace("from datetime import date", "from datetime import day"))
        page = visit.get("/console/design/patterns").text
        assert "cannot import name" in page
        assert "due_soon" in page


def test_the_console_runs_alone_against_an_endpoint(
    started: Callable[..., tuple[str, subprocess.Popen[str]]],
) -> None:
    served, _ = started("serve", "--db", ":memory:", "--port", "0", "--sample")
    endpoint = f"http://{urlsplit(served).netloc}"
    url, process = started("console", "--endpoint", endpoint, "--read-only", "--port", "0")
    with visitor(url) as visit:
        text = visit.get("/console/data/tables/sample-films/").text
    assert "Seven Samurai" in text
    assert "read-only" in text
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out.splitlines()[-1] == "keyplan console: stopped"
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--db", "a.db", "--aws", "eu-west-1"], "give one of --db, --endpoint and --aws"),
        (["--db", ":memory:", "--host", "0.0.0.0"], "set a token in KEYPLAN_CONSOLE_TOKEN"),
        (["--endpoint", "ftp://x"], "is not supported"),
        (["no_such_design"], "no_such_design"),
        (["--against", "examples/tasks.py"], "--against needs a design"),
    ],
)
def test_a_console_that_cannot_start_says_why(arguments: list[str], message: str) -> None:
    process = subprocess.run([*RUN, "console", *arguments], check=False, capture_output=True, text=True, timeout=240)
    assert process.returncode == 2
    assert message in process.stderr


def test_the_aws_cli_code_of_a_query_returns_the_same_items(tmp_path: Path) -> None:
    with Engine.memory() as engine, ThreadedServer(engine) as server:
        create(engine)
        for place in range(3):
            put(engine, 'it\'s "Ada" $HOME', place, size={"N": str(place)})
        source = Source.endpoint_url(server.url)
        facts = describe(source, "orders")
        filters = [AttributeFilter("size", "<>", "N", "0")]
        operation, call = Search(pk='it\'s "Ada" $HOME', descending=True, limit=9, filters=filters).request(facts)
        code = code_of(source, operation, call)
        source.close()
        command = code.cli.replace("aws ", f"{shlex.quote(sys.executable)} -m awscli ", 1)
        environment = {
            **os.environ,
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
            "AWS_CONFIG_FILE": str(tmp_path / "none"),
        }
        environment = {name: value for name, value in environment.items() if not name.endswith("_REGION")}
        process = subprocess.run(
            command, shell=True, check=False, env=environment, capture_output=True, text=True, timeout=240
        )
    assert process.returncode == 0, process.stderr
    assert [item["number"]["N"] for item in json.loads(process.stdout)["Items"]] == ["2", "1"]
