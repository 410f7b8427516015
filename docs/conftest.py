"""Runs every Python block of the documentation, page by page, each page in a folder of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

ROOT = Path(__file__).parent.parent


def enter_folder(namespace: dict[str, Any]) -> None:
    """Let a page write files without touching the project."""
    namespace["_folder"] = tempfile.mkdtemp(prefix="keyplan-page-")
    os.chdir(namespace["_folder"])


def leave_folder(namespace: dict[str, Any]) -> None:
    """Go back, and remove the folder that was made for the page: that one, wherever the page has gone."""
    os.chdir(ROOT)
    shutil.rmtree(namespace.pop("_folder"))


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()],
    patterns=["*.md"],
    setup=enter_folder,
    teardown=leave_folder,
).pytest()
