"""Runs every Python block of the documentation, page by page, each page in a folder of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser


def enter_folder(namespace: dict[str, Any]) -> None:
    """Let a page write files without touching the project."""
    namespace["_came_from"] = Path.cwd()
    os.chdir(tempfile.mkdtemp())


def leave_folder(namespace: dict[str, Any]) -> None:
    """Go back, and remove what the page wrote."""
    folder = Path.cwd()
    os.chdir(namespace["_came_from"])
    shutil.rmtree(folder)


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()],
    patterns=["*.md"],
    setup=enter_folder,
    teardown=leave_folder,
).pytest()
