"""How tests set up boto3: every call is sent once, so that what is repeated is repeated by what is tested."""

from __future__ import annotations

from typing import Final

from botocore.config import Config

ONCE: Final = Config(retries={"total_max_attempts": 1, "mode": "standard"}, max_pool_connections=50)
"""For as many threads as any test has."""
