"""Execution of every Python block in the documentation. Each page runs in a separate temporary folder."""

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
    """Change to a temporary folder, so that a page can write files without changing the project."""
    namespace["_folder"] = tempfile.mkdtemp(prefix="keyplan-page-")
    os.chdir(namespace["_folder"])


def leave_folder(namespace: dict[str, Any]) -> None:
    """Change to the root of the repository, and remove the temporary folder of the page."""
    os.chdir(ROOT)
    shutil.rmtree(namespace.pop("_folder"))


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()],
    patterns=["*.md"],
    setup=enter_folder,
    teardown=leave_folder,
).pytest()
