"""The files and commands in documentation pages: what a reader saves and types, page by page, and the output.

A fenced block with a title is a file: ```python title="tools.py". A block with the title "tools.py (continued)" is
appended to the file. In a block with the title "tools.py (changed)", definitions replace those with the same name, and
new definitions are appended. A console block is a transcript: lines that start with a dollar sign are run, and the
lines after them must equal the output. A line of three dots matches any lines, and three dots within a line match any
text. A command that ends in & runs until `kill %1`, which prints the command's last line, or until the end of the page.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[1]
TUTORIAL = tuple(f"tutorial/{name}.md" for name in ("design", "check", "run", "test", "ship"))
"""The pages of the tutorial in reading order. They share their files."""
_LANGUAGE = ("design/first", "design/suppressions")
_DESIGNS = ("checks", "costs", "verify", "import", "diff", "migrate", "export", "iam")
_PROGRAMS = ("coming-from", "fastapi", "testing")
PAGES = ("quickstart.md", *TUTORIAL, *(f"{name}.md" for name in (*_LANGUAGE, *_DESIGNS, *_PROGRAMS)))
_BLOCK = re.compile(r"^```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_HOME = "/home/ada/tools"
"""The path of the working folder in transcripts."""
_PORT = "8000"
"""The port in transcripts. Commands run with a free port instead."""
_GRACE_S = 240.0
_KILL = re.compile(r"kill %(?P<number>\d+)")
_PROGRESS = re.compile(r"keyplan verify: (loading|running) .*, [\d,]+ of [\d,]+")
"""A progress line, which commands print only on slow machines."""


@dataclass(frozen=True)
class Step:
    """A command of a transcript with the output that the page shows."""

    command: str
    expected_output: str


def files_before(page: str) -> dict[str, str]:
    """Return the files that a reader has saved on all earlier pages of the tutorial."""
    files: dict[str, str] = {}
    if page in TUTORIAL:
        for earlier in TUTORIAL[: TUTORIAL.index(page)]:
            for match in _BLOCK.finditer((DOCS / earlier).read_text()):
                _save(files, match)
    return files


def _save(files: dict[str, str], block: re.Match[str]) -> None:
    if block["title"] is None:
        return
    name, _, note = block["title"].partition(" (")
    if note == "changed)":
        files[name] = _merge_definitions(files[name], block["text"])
    else:
        files[name] = (files[name] + "\n\n" if note == "continued)" else "") + block["text"]


def _merge_definitions(old: str, new: str) -> str:
    """Return a file in which new definitions replace those with the same name. Other new definitions are appended."""
    lines = old.splitlines()
    definitions = {_name(node): node for node in ast.parse(old).body}
    changes = [(definitions.get(_name(node)), _text(new, node)) for node in ast.parse(new).body]
    for node, text in sorted(changes, key=lambda change: -_first(change[0])):
        if node is not None:
            lines[_first(node) - 1 : node.end_lineno] = [text]
    new_definitions = [f"\n\n{text}" for node, text in changes if node is None]
    return "\n".join([*lines, *new_definitions]) + "\n"


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.ImportFrom):
        return f"from {node.module} import {node.names[0].name}"
    return ast.unparse(node).partition(" = ")[0]


def _first(node: ast.stmt | None) -> int:
    """Return the first line of a definition, including its decorators."""
    if node is None:
        return 0
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _text(source: str, node: ast.stmt) -> str:
    return "\n".join(source.splitlines()[_first(node) - 1 : node.end_lineno])


def run(page: str) -> Iterator[tuple[Step, str]]:
    """Run the commands of a page in a folder with its files, and yield each command with its output."""
    files = files_before(page)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        shell = Shell(Path(folder).resolve(), stack)
        for match in _BLOCK.finditer((DOCS / page).read_text()):
            _save(files, match)
            shell.write(files)
            if match["kind"] == "console":
                for step in steps(match["text"]):
                    yield step, shell.run(step)


def steps(text: str) -> Iterator[Step]:
    """Yield the commands of a console block."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        last_line = next(number for number, line in enumerate(lines) if not line.endswith("\\\n"))
        yield Step("".join(lines[: last_line + 1]).rstrip("\n"), "".join(lines[last_line + 1 :]).strip("\n"))


class Shell:
    """A shell that runs commands in a folder. When the exit stack is closed, background commands are stopped."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._jobs: list[subprocess.Popen[str]] = []
        self._port = str(_free_port())
        scripts = str(Path(sys.executable).parent)
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTEST", "COV"))
        }
        self._environment = {
            **inherited,
            "PATH": os.pathsep.join([scripts, inherited.get("PATH", "")]),
            "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "us-east-1",
            "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "80",
        }  # fmt: skip

    def write(self, files: dict[str, str]) -> None:
        """Write files to the folder."""
        for name, text in files.items():
            (self._folder / name).write_text(self._with_real_port(text))

    def run(self, step: Step) -> str:
        """Run a command and return its output, with the folder and the port of the transcript."""
        command = self._with_real_port(step.command)
        if command.endswith(" &"):
            return self._normalized(self._start(command.removesuffix(" &"), step.expected_output.count("\n") + 1))
        if (job := _KILL.fullmatch(command)) is not None:
            # The lines before the last line were printed earlier, or could have been.
            output = _stop(self._jobs[int(job["number"]) - 1], signal.SIGTERM)
            return self._normalized("".join(output.splitlines()[-1:]))
        result = subprocess.run(  # noqa: S602 - a transcript is what a reader types into a shell
            command, shell=True, cwd=self._folder, env=self._environment, text=True, timeout=_GRACE_S, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return self._normalized(result.stdout)

    def _start(self, command: str, lines: int) -> str:
        process = subprocess.Popen(  # noqa: S603 - the commands are those of our own pages
            shlex.split(command), cwd=self._folder, env=self._environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._jobs.append(process)
        self._stack.callback(_stop, process, signal.SIGINT)
        assert process.stdout is not None, "it was asked for"
        return "".join(process.stdout.readline() for _ in range(lines))

    def _with_real_port(self, text: str) -> str:
        return re.sub(rf"\b{_PORT}\b", self._port, text)

    def _normalized(self, text: str) -> str:
        output = text.replace(str(self._folder), _HOME).replace(f":{self._port}", f":{_PORT}")
        lines = (line.rstrip() for line in output.splitlines() if not _PROGRESS.fullmatch(line))
        return "\n".join(lines).strip("\n")


def _free_port() -> int:
    """Return a free port below the range of ephemeral ports, so that no other program is assigned this port."""
    for port in range(16_384 + os.getpid() % 8_192, 32_768):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("no port is free")


def _stop(process: subprocess.Popen[str], number: signal.Signals) -> str:
    """Send a signal to a process, wait until it ends, and return the rest of its output."""
    process.send_signal(number)  # does nothing if the process has ended
    try:
        return process.communicate(timeout=_GRACE_S)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise


def agrees(expected_output: str, printed: str) -> bool:
    """Return True if the output in a transcript matches the printed output."""
    pattern = "\n".join(".*" if line == "..." else _line(line) for line in expected_output.splitlines())
    pattern = pattern.replace("\n.*", "(?:\n.*)?").replace(".*\n", "(?:.*\n)?")
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def _line(text: str) -> str:
    return "[^\n]*".join(re.escape(part) for part in text.split("..."))


def refreshed_pages() -> dict[str, str]:
    """Return the pages with transcripts by path under docs/. Output that differs from the current output is
    replaced.
    """
    return {page: _refresh_page(page) for page in PAGES}


def _refresh_page(page: str) -> str:
    text, position = (DOCS / page).read_text(), 0
    for step, printed in run(page):
        old = f"$ {step.command}\n" + (f"{step.expected_output}\n" if step.expected_output else "")
        new = f"$ {step.command}\n" + (f"{printed}\n" if printed else "")
        position = text.index(old, position)
        if not agrees(step.expected_output, printed):
            text = text[:position] + new + text[position + len(old) :]
        position += 1
    return text
