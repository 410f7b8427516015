"""MCP server over the SDK's own client: stdio and HTTP, waiting with progress, refusals, the example agent."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import typer
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from tests.systems.ask_a_human.stage import Stage
from typer.testing import CliRunner

from keyplan_systems.ask_a_human import mcp
from keyplan_systems.ask_a_human.client import AgentClient, AsyncAgentClient
from keyplan_systems.ask_a_human.client_errors import AskError
from keyplan_systems.ask_a_human.client_flow import Polling
from keyplan_systems.ask_a_human.example_agent import ReleaseNote, ask_about_drafts, best_draft, drafts
from keyplan_systems.ask_a_human.seed import QUESTIONS, ask_all
from keyplan_systems.commands import ask_mcp

pytestmark = pytest.mark.embedded("the server speaks HTTP to the system, wherever its tables are")
Connect = Callable[[], Any]


def environment(**variables: str) -> dict[str, str]:
    return {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "PATH": os.environ["PATH"], **variables}


def secrets_of(stage: Stage) -> dict[str, str]:
    headers = stage.agent("helper")
    return {
        "ASK_A_HUMAN_URL": stage.url,
        "ASK_A_HUMAN_AGENT": "helper",
        "ASK_A_HUMAN_SECRET": headers["Authorization"].removeprefix("Bearer "),
    }


@contextmanager
def over_stdio(stage: Stage) -> Iterator[StdioServerParameters]:
    module = "keyplan_systems.ask_a_human.mcp"
    yield StdioServerParameters(command=sys.executable, args=["-m", module], env=environment(**secrets_of(stage)))


@contextmanager
def over_http(stage: Stage) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "keyplan_systems.ask_a_human.mcp", "--transport", "http", "--port", str(port)]
    with subprocess.Popen(command, env=environment(**secrets_of(stage))) as process:
        try:
            with httpx.Client(transport=httpx.HTTPTransport(retries=7), timeout=60) as client:
                client.get(f"http://127.0.0.1:{port}/")  # once it answers, the server is ready
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


@pytest.fixture(params=[over_stdio, over_http])
def server(request: pytest.FixtureRequest, stage: Stage) -> Iterator[Any]:
    with request.param(stage) as server:
        yield server


def called(server: Any, tool: str, progress: Any = None, **arguments: Any) -> Any:
    async def call() -> Any:
        async with Client(server) as client:
            return await client.call_tool(tool, arguments, progress_callback=progress)

    return anyio.run(call)


def test_an_agent_asks_and_reads_the_answers_over_both_transports(stage: Stage, server: Any) -> None:
    async def converse() -> tuple[Any, Any, Any]:
        async with Client(server) as client:
            tools = await client.list_tools()
            result = await client.call_tool(
                "ask_human", {"prompt": "Which label is clearer?", "options": ["Send", "Submit"], "min_responses": 2}
            )
            question = result.structured_content["question_id"]
            await anyio.to_thread.run_sync(lambda: stage.answer(question, "ada", selected_option=1, confidence=4))
            return tools, result, await client.call_tool("check_human_responses", {"question_id": question})

    tools, result, read = anyio.run(converse)
    assert {tool.name for tool in tools.tools} == {"ask_human", "check_human_responses"}
    assert all(tool.description and tool.output_schema for tool in tools.tools)
    assert result.structured_content["status"] == "OPEN"
    content = read.structured_content
    assert (content["status"], content["summary"]) == ("PARTIAL", {"Send": 0, "Submit": 1})
    assert content["responses"][0]["confidence"] == 4
    assert "1 more answer is expected" in content["next_step"]


def test_waiting_reports_progress_until_the_last_answer(stage: Stage, server: Any) -> None:
    progress: list[tuple[float, float | None, str | None]] = []
    people = iter(["ada", "ben"])

    async def on_progress(count: float, needed: float | None, message: str | None) -> None:
        """Answer after each report, so that the server sees each answer with its next poll."""
        progress.append((count, needed, message))
        (question,) = stage.client.get("/human/questions").json()["questions"] or [None]
        if question is not None and (person := next(people, None)) is not None:
            await anyio.to_thread.run_sync(lambda: stage.answer(question["question_id"], person, answer="Blue."))

    result = called(server, "ask_human", on_progress, prompt="Which color?", min_responses=2, wait_seconds=600)
    assert result.structured_content["status"] == "CLOSED"
    assert [answer["answer"] for answer in result.structured_content["responses"]] == ["Blue.", "Blue."]
    assert progress[0] == (0, 2, "0 of 2 answers")
    assert progress[-1] == (2, 2, "2 of 2 answers")
    assert [count for count, _, _ in progress] == sorted({count for count, _, _ in progress}), (
        "progress always increases"
    )


def test_a_key_asks_once(stage: Stage) -> None:
    with over_stdio(stage) as server:
        first = called(server, "ask_human", prompt="Is it only once?", idempotency_key="k")
        again = called(server, "ask_human", prompt="Is it only once?", idempotency_key="k")
    assert first.structured_content["question_id"] == again.structured_content["question_id"]


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("ask_human", {"prompt": "Short"}, "prompt"),
        ("ask_human", {"prompt": "Which of these is it?", "options": ["only one"]}, "The question was not asked: "),
        ("check_human_responses", {"question_id": "none"}, "The answers cannot be read: "),
    ],
)
def test_rejections_are_results_that_a_model_can_read(
    stage: Stage, tool: str, arguments: dict[str, Any], message: str
) -> None:
    result = in_process(stage, tool, arguments)
    assert result.is_error
    assert message in result.content[0].text


def in_process(stage: Stage, tool: str, arguments: dict[str, Any]) -> Any:
    """Call a tool of a server in this process, whose polls wait for nothing."""

    async def call() -> Any:
        secrets_known = secrets_of(stage)
        async with (
            AsyncAgentClient(
                stage.url, "helper", secrets_known["ASK_A_HUMAN_SECRET"], polling=Polling(first_s=0.0, longest_s=0.0)
            ) as agent,
            Client(mcp.build(agent)) as client,
        ):
            return await client.call_tool(tool, arguments)

    return anyio.run(call)


def test_questions_of_other_agents_are_unknown(stage: Stage) -> None:
    result = in_process(stage, "check_human_responses", {"question_id": stage.create_question()})
    assert result.is_error


def test_the_first_start_registers_an_agent_and_keeps_its_credentials_private(stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "config" / "agent.json"
    first = mcp.credentials(stage.url, path, None, None)
    assert mcp.credentials(stage.url, path, None, None) == first
    assert path.stat().st_mode & 0o077 == 0
    assert json.loads(path.read_text("utf-8"))["agent_id"] == first.agent_id
    with pytest.raises(ValueError, match="contains credentials for"):
        mcp.credentials("http://127.0.0.1:1", path, None, None)
    with pytest.raises(ValueError, match="set both"):
        mcp.credentials(stage.url, path, "only-an-agent", None)


def test_the_http_transport_listens_on_loopback_only() -> None:
    command = [sys.executable, "-m", "keyplan_systems.ask_a_human.mcp", "--transport", "http", "--host", "0.0.0.0"]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "listens on 127.0.0.1 only" in ran.stderr


def test_an_agent_without_its_secret_is_a_clear_error() -> None:
    command = [sys.executable, "-m", "keyplan_systems.ask_a_human.mcp", "--agent", "helper"]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert (ran.returncode, "keyplan ask-mcp: set both" in ran.stderr) == (2, True)


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "keyplan_systems.ask_a_human.mcp", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    ran = CliRunner().invoke(typer_app(), [])
    assert ran.exit_code == 2
    assert "pip install 'keyplan-systems[mcp]'" in ran.output


def typer_app() -> typer.Typer:
    """Return an application with the command only."""
    app = typer.Typer()
    app.command()(ask_mcp)
    return app


def test_the_http_transport_rejects_other_host_names(stage: Stage) -> None:
    with over_http(stage) as url:
        response = httpx.post(url, headers={"Host": "evil.example"}, json={})
    assert response.status_code in (403, 421)


def test_the_example_agent_prints_the_preferred_draft(stage: Stage) -> None:
    texts = drafts(ReleaseNote())
    people = iter(["ada", "ben", "cleo"])

    def vote() -> None:
        (question,) = stage.client.get("/human/questions").json()["questions"]
        for person in people:
            option = 0 if person == "ada" else 1
            assert stage.answer(question["question_id"], person, selected_option=option).status_code == 201

    async def run() -> tuple[str, str]:
        with over_stdio(stage) as server:
            async with Client(server) as client:
                first = await ask_about_drafts(client, ReleaseNote(), people=3, wait_s=0, key="drafts")
                await anyio.to_thread.run_sync(vote)
                return first, await ask_about_drafts(client, ReleaseNote(), people=3, wait_s=0, key="drafts")

    before, after = anyio.run(run)
    assert before.startswith("Nobody has answered yet.")
    assert after == f"2 of 3 people prefer:\n{texts[1]}"
    assert best_draft(texts, {}) is None


def test_the_seeder_asks_each_question_once(stage: Stage) -> None:
    with AgentClient(stage.url, "helper", secrets_of(stage)["ASK_A_HUMAN_SECRET"]) as client:
        first = ask_all(client, "seed")
        assert ask_all(client, "seed") == first
    assert len(set(first)) == len(QUESTIONS)
    with AgentClient(stage.url, "helper", "wrong") as client, pytest.raises(AskError):
        ask_all(client, "seed")
