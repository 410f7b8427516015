"""Functions that several commands share."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from keyplan.cli.designs import command_name


def test_the_command_is_the_program_on_path_or_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my venv" / "bin"
    folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: str(folder))
    monkeypatch.setenv("PATH", "")
    assert command_name().endswith(" -m keyplan")
    name = "keyplan.exe" if sys.platform == "win32" else "keyplan"
    (folder / name).write_text("")
    (folder / name).chmod(0o700)
    assert command_name() == f"'{Path('my venv', 'bin', name)}'"
    monkeypatch.chdir(folder.parent)
    assert command_name() == str(Path("bin", name))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert str(folder) in command_name()
    monkeypatch.setenv("PATH", str(folder))
    assert command_name() == "keyplan"
