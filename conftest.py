"""Settings of the whole test suite: slow tests, profiles of Hypothesis, Python blocks of the README."""

from __future__ import annotations

import compileall
import gc
import signal
import sys
from functools import cache
from pathlib import Path

import pytest
from docs.conftest import enter_folder, leave_folder
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

from keyplan.engine.commands import OPERATIONS, command

sys.dont_write_bytecode = False  # half of the time to collect, and a third of the time to start each process
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # inherited from the background job of a shell, also by children
    signal.signal(signal.SIGINT, signal.default_int_handler)
gc.disable()  # until all tests are collected: next to nothing of what is imported becomes garbage

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()],
    patterns=["README.md"],
    setup=enter_folder,
    teardown=leave_folder,
).pytest()

ROOT = Path(__file__).parent
SLOW = {
    "README.md": "runs examples",
    "docs": "runs examples",
    "tests/bench": "starts servers and measures them",
    "tests/check/corpus": "checks whole designs",
    "tests/cli/test_commands.py": "starts processes",
    "tests/cli/test_diff.py": "loads every design twice, apart from this process's modules",
    "tests/cli/test_output.py": "starts processes",
    "tests/clients": "starts servers for clients of other projects",
    "tests/conformance": "repeats thousands of recorded requests",
    "tests/console/test_design.py": "opens pages in a browser",
    "tests/console/test_home.py": "opens pages in a browser",
    "tests/console/test_design_models.py": "runs every pattern of whole designs",
    "tests/console/test_items.py": "opens pages in a browser",
    "tests/console/test_load.py": "opens pages in a browser",
    "tests/console/test_other_engines.py": "opens pages in a browser",
    "tests/console/test_queries.py": "opens pages in a browser",
    "tests/console/test_serving.py": "starts processes",
    "tests/console/test_tables.py": "opens pages in a browser",
    "tests/crash": "kills processes",
    "tests/diff/test_engine.py": "changes the tables of an engine from each setting to each other",
    "tests/diff/test_programs.py": "loads every design twice, apart from this process's modules",
    "tests/diff/test_same.py": "compares whole designs",
    "tests/docs": "builds the documentation",
    "tests/engine/faults/throttling/test_partitions.py": "simulates minutes of heavy load",
    "tests/engine/store/test_forks.py": "starts processes",
    "tests/engine/store/test_interrupts.py": "interrupts threads by signals",
    "tests/engine/transfer/test_kill.py": "kills processes",
    "tests/engine/transfer/test_s3.py": "starts a server of moto",
    "tests/examples": "checks whole designs",
    "tests/export/test_aws_commands.py": "loads the AWS CLI",
    "tests/export/test_cloudformation.py": "runs cfn-lint",
    "tests/export/test_commands_run.py": "runs the AWS CLI",
    "tests/export/test_deployed.py": "deploys templates to moto",
    "tests/export/test_iam.py": "runs whole systems and cfn-lint",
    "tests/importers/test_writing.py": "starts processes",
    "tests/races": "runs threads and processes against each other",
    "tests/server/test_serve.py": "starts processes",
    "tests/simulation": "runs long random histories",
    "tests/smoke": "builds and installs the wheel",
    "tests/streams/test_kill.py": "kills processes",
    "tests/systems": "starts whole web systems",
    "tests/testing/test_classes.py": "starts test runs",
    "tests/testing/test_plugin.py": "starts test runs",
    "tests/typing": "starts type checkers",
    "tests/verify/test_corpus_units.py": "verifies whole designs",
    "tests/verify/test_run.py": "verifies whole designs",
}
"""Files and folders of slow tests, each with the reason; single slow tests are marked. `make quick` leaves them out."""
SERVED = {"served", "async served", "moto", "over_http"}
"""Parameters of fixtures with which a test also runs against a server; `make quick` runs it in process only."""


@cache
def _is_slow(path: Path) -> bool:
    """Return True if all tests in a file or folder are slow."""
    inner = path.relative_to(ROOT)
    return any(folder.as_posix() in SLOW for folder in (inner, *inner.parents))


def pytest_configure(config: pytest.Config) -> None:
    """Compile the sources, and refuse to select quick tests by a list with paths that do not exist.

    pytest stores its own bytecode of modules. Processes that tests start would compile all modules again each time,
    where PYTHONDONTWRITEBYTECODE is set.
    """
    if not hasattr(config, "workerinput") and config.option.markexpr != "not slow":
        for sources in ("src", "systems/src"):
            compileall.compile_dir(ROOT / sources, quiet=2)
    missing = [slow for slow in SLOW if not (ROOT / slow).exists()]
    if missing and config.option.markexpr == "not slow":
        raise pytest.UsageError(f"conftest.py lists slow tests that do not exist: {', '.join(missing)}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests, and run slow files first: a worker that starts one last would let the others wait."""
    items.sort(key=lambda item: not _is_slow(item.path))
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        is_served = any(isinstance(value, str) and value in SERVED for value in parameters)
        if _is_slow(item.path) or is_served or "over_http" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Exempt modules and tests from garbage collection, and write no bytecode of designs that tests make."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)  # tests are short, and most of their garbage needs no collection
    gc.enable()
    sys.dont_write_bytecode = True


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the import of slow test modules if only quick tests are selected."""
    return True if config.option.markexpr == "not slow" and _is_slow(collection_path) else None


# Tests of laws use the same examples in every run and have no deadline, so that a busy machine does not fail them.
# `--hypothesis-profile=thorough` tests more of them, `explore` as many that are new, `make quick` fewer.
settings.register_profile(
    "explore", settings.get_profile("default"), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("explore"), derandomize=True, database=None, print_blob=True)
settings.register_profile("steady", settings.get_profile("thorough"), max_examples=40)
settings.register_profile("quick", settings.get_profile("thorough"), max_examples=10)
settings.load_profile("steady")
# Hypothesis also draws constants found in loaded modules. With xdist, the loaded modules differ from run to run.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = providers.Constants
# The engine imports an operation on its first call, possibly in a thread. pytest parses modules that it rewrites, and
# CPython before 3.11.8 can fail if two threads parse at once. So import all operations before any thread starts.
for operation in OPERATIONS:
    command(operation)
