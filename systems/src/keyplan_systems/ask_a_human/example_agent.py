"""An example agent that drafts a release note, asks humans which draft is best, and prints the chosen draft.

    python -m keyplan_systems.ask_a_human.example_agent               # starts the MCP server itself
    python -m keyplan_systems.ask_a_human.example_agent --server http://127.0.0.1:8765/mcp

The agent does not use a language model. Fixed rules generate the drafts, so that each run asks the same question. The
agent uses only the tools of the MCP server.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import anyio
import typer
from mcp import Client
from mcp.client.stdio import StdioServerParameters


@dataclass(frozen=True)
class ReleaseNote:
    """The content of a release note: what has changed and why."""

    product: str = "Ledger 4.2"
    change: str = "exports more than 10,000 rows without running out of memory"
    reason: str = "large exports stopped halfway"


def drafts(note: ReleaseNote) -> list[str]:
    """Return three drafts of a release note. The first starts with the effect of the change, the second with the
    problem, and the third combines both in one sentence.
    """
    return [
        f"{note.product} now {note.change}.",
        f"Fixed: {note.reason}. {note.product} {note.change}.",
        f"{note.product}: better exports.",
    ]


def question(note: ReleaseNote) -> str:
    """Return the prompt of a question that asks people to compare the drafts. It contains the context that people need
    to compare them.
    """
    return (
        f"A new version of a bookkeeping program solves this problem: {note.reason}."
        " Which release note tells you best whether you should update?"
    )


def best_draft(texts: list[str], summary: Mapping[str, int]) -> str | None:
    """Return the draft with the most votes, or None if there were no votes. If several drafts have the most votes,
    return the first of them. `summary` maps each draft to its number of votes.
    """
    best = max(texts, key=lambda text: summary.get(text, 0))
    return best if summary.get(best, 0) else None


async def ask_about_drafts(client: Client, note: ReleaseNote, *, people: int, wait_s: int, key: str | None) -> str:
    """Ask humans which draft of the release note is best, wait for their answers, and return a report.

    `people` is the required number of answers, `wait_s` the maximum waiting time in seconds, and `key` the idempotency
    key. Raises RuntimeError if the MCP server rejects the question.
    """
    texts = drafts(note)

    async def show_progress(progress: float, total: float | None, message: str | None) -> None:
        typer.echo(message or f"{progress:g} of {total:g} answers", err=True)

    arguments: dict[str, Any] = {
        "prompt": question(note),
        "options": texts,
        "audience": ["product"],
        "min_responses": people,
        "wait_seconds": wait_s,
    }
    if key is not None:
        arguments["idempotency_key"] = key
    result = await client.call_tool(
        "ask_human", arguments, read_timeout_seconds=wait_s + 60, progress_callback=show_progress
    )
    if result.is_error or result.structured_content is None:
        raise RuntimeError(" ".join(getattr(part, "text", "") for part in result.content))
    answers = result.structured_content
    draft = best_draft(texts, answers["summary"] or {})
    if draft is None:
        return f"Nobody has answered yet. {answers['next_step']}"
    return f"{answers['summary'][draft]} of {answers['current_responses']} people prefer:\n{draft}"


def main(
    server: Annotated[
        str | None, typer.Option(help="URL of a running MCP server. If omitted, a server is started.")
    ] = None,
    url: Annotated[str, typer.Option(help="URL of Ask-a-Human, for an MCP server started by this command.")] = (
        "http://127.0.0.1:8000/ask_a_human"
    ),
    people: Annotated[int, typer.Option(min=1, max=50, help="Number of people to ask.")] = 3,
    wait: Annotated[int, typer.Option(min=0, max=3600, help="Seconds to wait for their answers.")] = 300,
    key: Annotated[
        str | None, typer.Option(help="Idempotency key. Repeating the command with the same key asks only once.")
    ] = None,
) -> None:
    """Draft a release note, ask humans which draft is best, and print the chosen draft."""
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "keyplan_systems.ask_a_human.mcp", "--url", url]
    )

    async def run() -> str:
        async with Client(server or command) as client:
            return await ask_about_drafts(client, ReleaseNote(), people=people, wait_s=wait, key=key)

    try:
        typer.echo(anyio.run(run))
    except RuntimeError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


if __name__ == "__main__":
    typer.run(main)
