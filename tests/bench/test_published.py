"""What is kept of a run, and that the pages show just that."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.comparing import IN_PROCESS, http_section
from bench.lines import Line
from bench.measure import Span
from bench.peers import PEER_NAMES
from bench.published import Record, fill_block, pages, read, short_block, whole_block, write
from bench.suite import settings_for
from bench.targets.model import Settings
from bench.workload import Operation, Workload
from typer.testing import CliRunner

from bench import cli, parts, published

MACHINE = {"python": "CPython 3.11", "at": "2026-01-31T10:00:00+00:00", "cores": 2, "load_average": 0.5}
HTTP_SECTION = http_section(8)
LINES = [
    Line(IN_PROCESS, "get", "engine", 65432.1, "/s", "moto", 500.0, 20.0, "at least"),
    Line(IN_PROCESS, "get", "engine", 65432.1, "/s", "boto3@dynoxide", 900.0, 20.0, "at least"),
    Line(IN_PROCESS, "get", "engine", 65432.1, "/s", "boto3@dynalite", None, 20.0, "at least", "in /srv/x/log: no"),
    Line(HTTP_SECTION, "get", "http", 12345.0, "/s", "dynalite", 4000.0, 2.0, "at least"),
]
RECORD = Record(MACHINE, {"engine": "on disk"}, {"ministack": "`/home/who/.cache/bin/pip install` failed"}, LINES)


@pytest.mark.parametrize("path", [published.README, published.PAGE], ids=lambda path: path.name)
def test_pages_show_the_saved_results(path: Path) -> None:
    assert path.read_text() == pages(read())[path], "fill them anew: python -m bench readme"


def test_the_readme_stays_short() -> None:
    assert len(published.README.read_text().split()) < 500


def test_saved_results_contain_no_machine_folders() -> None:
    assert not published.FOLDERS.search(published.RESULTS.read_text())


def test_saved_results_are_rounded_and_have_no_folders(tmp_path: Path) -> None:
    write(RECORD, tmp_path / "results.json")
    results = read(tmp_path / "results.json")
    assert results.lines[0] == Line(IN_PROCESS, "get", "engine", 65430.0, "/s", "moto", 500.0, 20.0, "at least")
    assert results.lines[2].reason == "in log: no"
    assert results.missing == {"ministack": "`pip install` failed"}
    assert (results.machine, results.notes) == (RECORD.machine, RECORD.notes)


def test_the_short_block_shows_the_ratio_to_the_fastest_peer() -> None:
    rows = short_block(RECORD).splitlines()
    assert "|get|65,400|72.7|12,300|3.09|" in rows
    assert "|put|-|-|-|-|" in rows
    assert len(rows) == 2 + len(Operation) + 2
    assert rows[-1] == "2 cores, CPython 3.11, load average 0.5, 2026-01-31."


def test_the_full_block_has_every_line_by_section() -> None:
    block = whole_block(RECORD)
    assert "| get | engine | 65,432/s | boto3@dynoxide | 900/s | 72.7 x | at least 20 x | yes |" in block
    assert "| get | engine | 65,432/s | boto3@dynalite | - | - | at least 20 x | - |" in block
    assert "3 of 3 required bounds met" in block
    assert "* `in process, 1 client, get: in /srv/x/log: no`" in block
    assert "* `engine`: on disk" in block
    assert block.index("## In process, 1 client") < block.index("## Over HTTP, 8 connections")


def test_only_the_text_between_the_markers_of_a_block_is_replaced() -> None:
    page = f"before\n{published.START}\nold\n{published.END}\nafter\n"
    assert fill_block(page, "new") == f"before\n{published.START}\n\nnew\n\n{published.END}\nafter\n"
    assert fill_block(fill_block(page, "new"), "new") == fill_block(page, "new")
    with pytest.raises(ValueError, match="once each"):
        fill_block("no markers", "new")


def test_only_a_full_run_with_peers_is_saved() -> None:
    for arguments in (["all", "--keep"], ["all", "--peers", "--quick", "--keep"]):
        assert CliRunner().invoke(cli.app, arguments).exit_code == 2


def test_a_run_is_shown_saved_and_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[Record] = []
    monkeypatch.setattr(cli, "_run_all", lambda workload, peers, quick: RECORD)
    monkeypatch.setattr(published, "write", lambda record, path=None: saved.append(record))
    monkeypatch.setattr(published, "read", lambda: saved[-1])
    monkeypatch.setattr(published, "fill", lambda record: [tmp_path / "PAGE.md"] if record is RECORD else [])
    result = CliRunner().invoke(cli.app, ["all", "--peers", "--keep", "--json", str(tmp_path / "run.json")])
    assert (result.exit_code, saved) == (0, [RECORD, RECORD])


def test_a_failing_part_becomes_a_line_and_the_other_parts_run(monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[Path] = []

    def failing(settings: Settings) -> list[Line]:
        raise OSError("no disk")

    def working(settings: Settings) -> list[Line]:
        folders.append(settings.folder)
        return [LINES[0]]

    monkeypatch.setattr(parts, "_parts", lambda whole, part: {"bad": failing, "good": working})
    started: list[object] = []
    with settings_for(Workload(), Span()) as settings:
        share = parts.RunSettings(settings, lambda name, items: pytest.fail("nothing is loaded"), started.append)
        measurements = parts.measure(share, lambda part, count: started.append((part, count)))
        assert folders[0].parent == settings.folder
    assert started == [("bad", 2), ("good", 2)]
    assert [(line.section, line.reason) for line in measurements.lines] == [
        ("bad", "OSError: no disk"),
        (IN_PROCESS, ""),
    ]
    assert set(measurements.missing) == set(PEER_NAMES)
