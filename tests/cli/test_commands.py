"""The commands as a user runs them: their own process, their output and exit codes."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import IO

from typer.testing import CliRunner

from keyplan import Engine, __version__
from keyplan.cli import sample
from keyplan.cli.main import app
from keyplan.engine.store.rows import Transaction

RUN = [sys.executable, "-m", "keyplan"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RUN, *arguments], capture_output=True, text=True, timeout=240, check=False)


def make_database(path: Path) -> None:
    with Engine.open(path) as engine:
        sample.load(engine)
        sample.load(engine)  # a second time changes nothing
        assert engine.call("Scan", {"TableName": sample.TABLE})["Count"] == 10


def test_the_version_is_printed() -> None:
    assert run("--version").stdout == f"keyplan {__version__}\n"


def test_fsck_distinguishes_a_valid_file_from_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    make_database(path)
    sound = run("fsck", str(path))
    assert (sound.returncode, sound.stdout) == (0, f"{path}: 1 table(s), no problems\n")
    assert run("fsck", "--quiet", str(path)).stdout == ""
    with Engine.open(path) as engine:
        tree = engine.database.table(sample.TABLE).indexes["by-genre"].tree

        def lose_an_entry(transaction: Transaction) -> None:
            key, _, _ = next(iter(transaction.span(tree, b"", None)))
            transaction.delete(tree, key)

        engine.store.write(lose_an_entry)
    damaged = run("fsck", str(path))
    assert damaged.returncode == 1
    assert "sample-films/by-genre: entry is missing" in damaged.stderr
    assert "sample-films/by-genre: 9 entries, 10 expected" in damaged.stderr


def test_fsck_rejects_files_that_are_not_databases(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing but words " * 100)
    refused = run("fsck", str(path))
    assert refused.returncode == 1
    assert "is not a keyplan database" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert run("fsck", str(tmp_path / "missing.db")).returncode == 2


def test_a_snapshot_is_a_separate_database(tmp_path: Path) -> None:
    path, copy = tmp_path / "data.db", tmp_path / "copy.db"
    make_database(path)
    assert run("snapshot", str(path), str(copy)).returncode == 0
    with Engine.open(copy) as engine:
        assert engine.call("Scan", {"TableName": sample.TABLE})["Count"] == 10
    again = run("snapshot", str(path), str(copy))
    assert again.returncode == 1
    assert "already exists" in again.stderr


def test_serve_starts_with_the_sample_table_and_stops_cleanly(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    server = subprocess.Popen(
        [*RUN, "serve", "--db", str(path), "--port", "0", "--sample"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert server.stdout is not None
    first = server.stdout.readline()
    url = first.rpartition(" ")[2].strip()
    with urllib.request.urlopen(url) as response:
        assert response.status == 200
    server.send_signal(signal.SIGINT)
    rest = server.stdout.read()  # to its end, with what was buffered behind the first line
    server.stdout.close()
    assert server.wait(timeout=240) == 0
    commands = [line for line in rest.splitlines() if line.startswith("  ")]
    assert commands[1] == f"  aws dynamodb list-tables --endpoint-url {url} --region us-east-1"
    assert not [line for line in commands if "keyplan serve:" in line]
    assert rest.endswith("keyplan serve: stopped\n")
    with Engine.open(path) as engine:
        assert engine.call("ListTables", {}) == {"TableNames": [sample.TABLE]}


def test_the_shell_completes_commands() -> None:
    variables = {"_KEYPLAN_COMPLETE": "complete_bash", "COMP_WORDS": "keyplan sn", "COMP_CWORD": "1"}
    response = CliRunner().invoke(app, env=variables, prog_name="keyplan")
    assert response.stdout.split() == ["snapshot"]


def test_check_watches_the_files_of_a_design(tmp_path: Path) -> None:
    path = tmp_path / "notes.py"
    sound = 'from keyplan import Table\n\nnotes = Table("notes", pk="note_id")\n'
    path.write_text(sound)
    command = [*RUN, "check", str(path), "--errors-only", "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        read_to(process.stdout, "exit code 0")
        path.write_text(sound.replace('"notes"', '"n"'))
        assert "error" in read_to(process.stdout, "exit code 1")
        path.write_text(sound)
        read_to(process.stdout, "exit code 0")
        process.send_signal(signal.SIGINT)
        assert "stopped" in process.stdout.read()
    assert process.returncode == 0


def read_to(lines: IO[str], end: str) -> str:
    """Return the output up to a line that contains a text."""
    read = ""
    for line in lines:
        read += line
        if end in line:
            return read
    raise AssertionError(f"the output ended: {read}")


def test_check_fails_to_watch_a_missing_file(tmp_path: Path) -> None:
    refused = run("check", str(tmp_path / "nothing.py"), "--watch")
    assert (refused.returncode, "file not found" in refused.stderr) == (2, True)
