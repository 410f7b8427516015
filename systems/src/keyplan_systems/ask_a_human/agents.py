"""Registers and authenticates agents. Operators issue new secrets with `python -m
keyplan_systems.ask_a_human.agents`.
"""

from __future__ import annotations

from typing import Annotated

import typer

import keyplan
from keyplan.client.errors import AlreadyExistsError, ConditionFailedError, NotFoundError
from keyplan.clock import SystemClock
from keyplan.errors import KeyplanError
from keyplan_systems.ask_a_human import design_questions
from keyplan_systems.ask_a_human.base import ATTEMPTS, TRANSIENT, Base, BusyError
from keyplan_systems.ask_a_human.domain import credentials
from keyplan_systems.ask_a_human.domain.refusals import AgentIdTakenError
from keyplan_systems.ask_a_human.domain.timestamps import iso
from keyplan_systems.ask_a_human.entities import Agent

app = typer.Typer(no_args_is_help=True)


class Agents:
    """Registers and authenticates agents, and replaces their secrets. Instances are thread-safe."""

    def __init__(self, base: Base) -> None:
        self._base, self._connection = base, base.connection

    def register(self, agent: str) -> str:
        """Register an agent ID and return the agent's new secret.

        Raises AgentIdTakenError if the ID is already registered.
        """
        secret = credentials.new_secret("agent")
        secret_hash = credentials.secret_hash(secret)
        record = Agent(agent=agent, secret_hash=secret_hash, registered_at=iso(self._base.now_ms))
        try:
            self._base.write(design_questions.add_agent(record))
        except AlreadyExistsError as error:
            message = "this agent id is registered or in use: choose another one"
            raise AgentIdTakenError(message, {"field": "agent_id", "constraint": "unique"}) from error
        return secret

    def authenticate(self, agent: str, secret: str) -> bool:
        """Return True if the agent exists and `secret` is one of its valid secrets.

        When the new secret from a rotation is first used, the previous secret becomes invalid.
        """
        secret_hash = credentials.secret_hash(secret)
        for attempt in range(ATTEMPTS):
            item = self._connection.run(design_questions.agent_by_id(agent))
            if item is None:
                return False
            if credentials.hashes_match(secret_hash, item.secret_hash):
                return True
            if not credentials.hashes_match(secret_hash, item.next_secret_hash):
                return False
            try:
                self._base.write(design_questions.confirm_secret(agent, secret_hash))
            except (ConditionFailedError, NotFoundError, *TRANSIENT):  # confirmed or replaced by a concurrent request
                self._base.back_off(attempt)
            else:
                return True
        raise BusyError("too many concurrent changes to this agent's secret: try again")

    def rotate(self, agent: str) -> str:
        """Create a new secret for an agent that has already been authenticated, and return the secret.

        The current secret stays valid until the new secret is first used, so a lost response does not lock the agent
        out.
        """
        secret = credentials.new_secret("agent")
        self._base.write(design_questions.rotate_secret(agent, credentials.secret_hash(secret)))
        return secret

    def issue(self, agent: str) -> str | None:
        """Create a new secret for an agent that has lost its secret, and return the new secret. All earlier secrets
        become invalid.

        Returns None if the agent ID is unknown.
        """
        secret = credentials.new_secret("agent")
        try:
            self._base.write(design_questions.issue_secret(agent, credentials.secret_hash(secret)))
        except NotFoundError:
            return None
        return secret


@app.callback()
def _commands() -> None:
    """Manage the secrets of agents."""


@app.command()
def issue(
    agent: Annotated[str, typer.Argument(help="The agent's ID, as in the X-Agent-Id header.")],
    url: Annotated[str, typer.Option(help="The database: a file path, http://host:port or aws://region.")],
) -> None:
    """Print a new secret for an agent and invalidate its other secrets."""
    clock = SystemClock()
    try:
        with keyplan.connect(url, clock=clock) as connection:
            secret = Agents(Base(connection, clock)).issue(agent)
        if secret is None:
            raise ValueError(f"unknown agent: {agent}")
    except (KeyplanError, OSError, ValueError, ImportError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    typer.echo(secret)


if __name__ == "__main__":
    app()
