"""Runs the Python blocks of the README, as docs/conftest.py does those of the documentation; lets laws repeat."""

from __future__ import annotations

from docs.conftest import enter_folder, leave_folder
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

from keyplan.engine.commands import OPERATIONS, command

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()],
    patterns=["README.md"],
    setup=enter_folder,
    teardown=leave_folder,
).pytest()

# A law is held against the same examples in every run, and a busy machine is no reason to fail. To look for others:
# pytest --hypothesis-profile=explore
settings.register_profile(
    "explore", settings.get_profile("default"), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("steady", settings.get_profile("explore"), derandomize=True, database=None, print_blob=True)
settings.load_profile("steady")
# Hypothesis also draws constants that it finds in whatever modules are loaded, which with xdist is chance.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = providers.Constants
# The engine imports an operation when it is first called, maybe in a thread; pytest parses what it imports of a plugin,
# and CPython before 3.11.8 may fail where two threads parse at once. So all are imported before there are threads.
for operation in OPERATIONS:
    command(operation)
