"""Runs the Python blocks of the README, as docs/conftest.py does those of the documentation; gives laws their time."""

from __future__ import annotations

import os

from docs.conftest import enter_folder, leave_folder
from hypothesis import settings
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()],
    patterns=["README.md"],
    setup=enter_folder,
    teardown=leave_folder,
).pytest()

# A busy machine is no reason to fail. Where CI is set, Hypothesis has a profile of its own that says so too.
if "CI" not in os.environ:
    settings.register_profile("local", deadline=None)
    settings.load_profile("local")
