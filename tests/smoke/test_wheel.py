"""Both wheels in empty environments: built, installed with their declared dependencies only, and used.

All packages are downloaded first, from the index that pip is configured with. If the index cannot be reached, the tests
are skipped with pip's reason.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AS_WRITTEN = ROOT / "examples" / "as_written" / "todo.py"
PAGE = "http://127.0.0.1:"
LONG_S = 600.0
pytestmark = pytest.mark.timeout(6 * LONG_S)


def run(command: Sequence[str | Path], folder: Path, timeout_s: float = LONG_S) -> subprocess.CompletedProcess[str]:
    """Run a program where nothing of this project's environment is seen."""
    outside = ("PYTHON", "PYTEST", "AWS_", "VIRTUAL_ENV", "COV_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(outside)}
    return subprocess.run(
        [str(argument) for argument in command], cwd=folder, env=clean, text=True, timeout=timeout_s, check=False,
        stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel and what the wheel needs."""

    scripts: Path
    folder: Path

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return run([self.scripts / "keyplan", *arguments], self.folder)

    def python(self, code: str) -> subprocess.CompletedProcess[str]:
        return run([self.scripts / "python", "-c", code], self.folder)


def requirements(project: Path) -> Iterator[str]:
    """Yield what a project declares, and what the toolkit's extras that it names declare, but not the toolkit."""
    declared = tomllib.loads((project / "pyproject.toml").read_text())
    yield from declared["build-system"]["requires"]
    for name in declared["project"]["dependencies"]:
        toolkit = re.fullmatch(r"keyplan(?:\[([\w,]+)\])?", name)
        if toolkit is None:
            yield name
        elif toolkit[1]:
            extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            for extra in toolkit[1].split(","):
                yield from extras[extra]


def download(folder: Path, *projects: Path) -> list[str | Path]:
    """Download, as wheels, what building and running the projects needs; return pip options that use only those."""
    needed = [name for project in projects for name in requirements(project)]
    process = run([sys.executable, "-m", "pip", "wheel", "-q", "-w", ".", *needed], folder)
    if process.returncode:
        pytest.skip(f"no package index: {(process.stderr.strip().splitlines() or ['no output of pip'])[-1]}")
    return ["-q", "--disable-pip-version-check", "--no-index", "--find-links", folder]


def build(project: Path, folder: Path, packages: list[str | Path]) -> Path:
    """Build a project's wheel from a copy of its sources."""
    shutil.copytree(project / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(project / name, folder)
    process = run([sys.executable, "-m", "pip", "wheel", *packages, "--no-deps", "-w", "dist", "."], folder)
    assert process.returncode == 0, process.stderr
    (built,) = (folder / "dist").glob("*.whl")
    return built


def install(folder: Path, packages: list[str | Path], *wheels: Path) -> Installed:
    """Install wheels into a new environment, with this environment's pip."""
    assert run([sys.executable, "-m", "venv", "--without-pip", "venv"], folder).returncode == 0
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", scripts / "python"]
    process = run([*pip, "install", "--no-compile", *packages, *wheels], folder)
    assert process.returncode == 0, process.stderr
    return Installed(scripts, folder)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> list[str | Path]:
    """Return options of pip to build and install both distributions from what they declare; pip takes no others."""
    return download(tmp_path_factory.mktemp("packages"), ROOT, ROOT / "systems")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, packages: list[str | Path]) -> Path:
    """Build the wheel of the toolkit and return its path."""
    return build(ROOT, tmp_path_factory.mktemp("build"), packages)


@pytest.fixture(scope="module")
def keyplan(tmp_path_factory: pytest.TempPathFactory, wheel: Path, packages: list[str | Path]) -> Installed:
    """Install the toolkit alone."""
    return install(tmp_path_factory.mktemp("empty"), packages, wheel)


@pytest.fixture(scope="module")
def with_systems(tmp_path_factory: pytest.TempPathFactory, wheel: Path, packages: list[str | Path]) -> Installed:
    """Both distributions, installed."""
    systems = build(ROOT / "systems", tmp_path_factory.mktemp("build-systems"), packages)
    return install(tmp_path_factory.mktemp("empty"), packages, wheel, systems)


@pytest.fixture(scope="module")
def database(keyplan: Installed) -> Path:
    """Return a database file that the installed command has served."""
    command = [str(keyplan.scripts / "keyplan"), "serve", "--db", "films.db", "--port", "0", "--sample"]
    with subprocess.Popen(command, cwd=keyplan.folder, text=True, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            listening = server.stdout.readline().strip()
            assert PAGE in listening
            assert _tables(listening.rpartition(" ")[2]) == '{"TableNames":["sample-films"]}'
        finally:
            server.send_signal(signal.SIGTERM)
        rest = server.stdout.read()
        assert server.wait(LONG_S) == 0
    assert rest.endswith("keyplan serve: stopped\n")
    return keyplan.folder / "films.db"


def _tables(url: str) -> str:
    scope = "any/20260101/us-east-1/dynamodb/aws4_request"
    request = urllib.request.Request(
        url,
        data=b"{}",
        headers={
            "X-Amz-Target": "DynamoDB_20120810.ListTables",
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Date": "20260101T000000Z",
            "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature={'0' * 64}",
        },
    )
    with urllib.request.urlopen(request, timeout=LONG_S) as response:
        text: str = response.read().decode()
    return text


def test_the_wheel_needs_only_its_declared_dependencies(keyplan: Installed) -> None:
    missing = keyplan.python("import boto3, fastapi")
    assert "No module named 'boto3'" in missing.stderr
    from keyplan import __version__  # noqa: PLC0415 - of this environment, to compare

    assert keyplan("--version").stdout == f"keyplan {__version__}\n"


def test_the_wheel_serves_valid_database_files(keyplan: Installed, database: Path) -> None:
    sound = keyplan("fsck", database)
    assert (sound.returncode, sound.stdout) == (0, f"{database}: 1 table(s), no problems\n")
    copied = keyplan("snapshot", database, "copy.db")
    assert copied.returncode == 0
    assert keyplan("fsck", "--quiet", "copy.db").returncode == 0


def test_the_wheel_checks_explains_prices_and_documents_designs(keyplan: Installed) -> None:
    checked = keyplan("check", AS_WRITTEN)
    assert checked.returncode == 1
    assert "error[KP605]: two items can have the same User.email" in checked.stdout
    assert "Query on index GSI1" in keyplan("explain", f"{AS_WRITTEN}:tasks_by_status").stdout
    assert "per month, us-east-1" in keyplan("price", AS_WRITTEN).stdout
    assert keyplan("docs", AS_WRITTEN).stdout.startswith("# todo\n")
    assert keyplan("rule", "KP203").stdout.startswith("KP203 key-collision")


def test_the_wheel_runs_designs_on_the_embedded_engine(keyplan: Installed) -> None:
    code = """
import keyplan
from keyplan import Entity, ItemWrite, Table, item
things = Table("things", pk="id")
@things.entity()
class Thing(Entity):
    id: str
@things.create(Thing)
def add(thing: Thing) -> ItemWrite:
    return item(thing)
with keyplan.connect("things.db") as db:
    db.run(add(Thing(id="1")))
"""
    (keyplan.folder / "things.py").write_text(code)
    ran = run([keyplan.scripts / "python", "things.py"], keyplan.folder)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert keyplan("fsck", "things.db").stdout == "things.db: 1 table(s), no problems\n"


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("up",), "pip install keyplan-systems"),
        (("token", "ada"), "pip install keyplan-systems"),
        (("verify", AS_WRITTEN), "keyplan[verify]"),
    ],
    ids=lambda entry: entry[0] if isinstance(entry, tuple) else "",
)
def test_a_missing_extra_is_named(keyplan: Installed, arguments: tuple[str | Path, ...], extra: str) -> None:
    process = keyplan(*arguments)
    assert process.returncode in {1, 2}
    assert extra in process.stderr
    assert "Traceback" not in process.stderr


def test_a_connection_without_boto3_names_the_extra(keyplan: Installed) -> None:
    process = keyplan.python("import keyplan; keyplan.connect('http://127.0.0.1:1')")
    assert process.stderr.rstrip().endswith("ImportError: boto3 is required for this database: install keyplan[aws]")


def test_the_systems_add_their_commands(with_systems: Installed) -> None:
    help_page = with_systems("--help").stdout
    assert all(f" {command} " in help_page for command in ("ask-mcp", "check", "demo", "lake", "token", "up"))
    token = with_systems("token", "ada")
    assert (token.returncode, token.stdout.count(".")) == (0, 2)
    without_lake = with_systems("lake", "todo", "reports")
    assert without_lake.returncode == 2
    assert "keyplan-systems[lake]" in without_lake.stderr


def test_the_descriptions_for_pypi_have_only_absolute_links(with_systems: Installed) -> None:
    printed = with_systems.python(
        "from importlib.metadata import metadata\n"
        "for name in ('keyplan', 'keyplan-systems'): print(metadata(name).get_payload())"
    )
    targets = re.findall(r"\]\(([^)]+)\)", printed.stdout)
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith("https://")] == []


def test_the_systems_serve(with_systems: Installed) -> None:
    command = [str(with_systems.scripts / "keyplan"), "up", "--folder", "data", "--port", "0"]
    with subprocess.Popen(command, cwd=with_systems.folder, text=True, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            page = re.search(r"http://127\.0\.0\.1:\d+", next(line for line in server.stdout if PAGE in line))
            assert page is not None
            with urllib.request.urlopen(f"{page[0]}/health/live", timeout=LONG_S) as response:
                assert response.status == 200
        finally:
            server.send_signal(signal.SIGTERM)
        server.stdout.read()
        assert server.wait(LONG_S) == 0
