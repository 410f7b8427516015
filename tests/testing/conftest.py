"""A stand-in for the engine, which says what a test tells it to, and clients without a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.config import Config
from tests.sdk import shared_loader

from keyplan.errors import ServiceError

__all__ = ["shared_loader"]  # a fixture

Answer = dict[str, Any] | ServiceError


class ScriptedEngine:
    """Gives the answers it was handed, in order, and the last one for ever after."""

    def __init__(self, *responses: Answer) -> None:
        self.answers: list[Answer] = list(responses or ({},))
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def call(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
        """Return the next answer, or raise the next error."""
        self.calls.append((operation, request))
        response = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(response, ServiceError):
            raise response
        return response


@pytest.fixture
def scripted() -> type[ScriptedEngine]:
    """Return the class of the stand-in."""
    return ScriptedEngine


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing in these tests may need credentials or find any."""
    missing = str(tmp_path_factory.getbasetemp() / "no-such-file")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", missing)
    monkeypatch.setenv("AWS_CONFIG_FILE", missing)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def make_client() -> Callable[..., Any]:
    """Return a factory of clients in a region, whose requests would go to a closed port."""

    def make(service: str = "dynamodb", **config: Any) -> Any:
        return boto3.Session(region_name="eu-west-1").client(
            service,  # type: ignore[call-overload]
            endpoint_url="http://127.0.0.1:9",
            config=Config(**config),
        )

    return make


@pytest.fixture
def client(make_client: Callable[..., Any]) -> Any:
    """One such client for DynamoDB."""
    return make_client()
