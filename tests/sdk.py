"""Settings of boto3 in tests: it sends each request once, so that only the tested code repeats requests."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

import botocore.loaders
import botocore.session
import pytest
from botocore.config import Config

ONCE: Final = Config(retries={"total_max_attempts": 1, "mode": "standard"}, max_pool_connections=50)
"""For as many threads as any test has."""


@pytest.fixture(scope="session", autouse=True)
def shared_loader() -> Iterator[None]:
    """Read the files of botocore once for all sessions; otherwise each client takes 0.1 s to make."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.session, "create_loader", cache(botocore.loaders.create_loader))
        yield


def alone(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, **more: str) -> None:
    """Credentials that nobody checks, no files of the user, and no proxy between here and here; `more` is set too."""
    missing = str(tmp_path_factory.getbasetemp() / "no-such-file")
    for name, value in {
        "AWS_SHARED_CREDENTIALS_FILE": missing,
        "AWS_CONFIG_FILE": missing,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "NO_PROXY": "127.0.0.1",
        **more,
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
