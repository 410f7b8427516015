"""The tutorial's transcripts: every command is run, and prints what the page says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest
from docs.making.transcripts import DOCS, PAGES, TUTORIAL, agrees, files_before, run, steps


@pytest.mark.parametrize("page", [page for page in PAGES if "```console" in (DOCS / page).read_text()])
def test_commands_print_the_output_on_the_page(page: str) -> None:
    ran = list(run(page))
    assert ran
    for step, printed in ran:
        assert agrees(step.expected_output, printed), (
            f"{page}: $ {step.command}\nprints\n{printed}\n(python -m docs.making --transcripts takes it over)"
        )


def test_every_page_of_the_tutorial_is_executed() -> None:
    assert {f"tutorial/{path.name}" for path in (DOCS / "tutorial").glob("*.md")} == set(TUTORIAL)


def test_a_changed_definition_replaces_the_old_one() -> None:
    before, after = (files_before(f"tutorial/{name}.md")["tools.py"] for name in ("check", "run"))
    assert before.count("def extend(") == after.count("def extend(") == 1
    assert "assuming(branch=" not in before
    assert "assuming(branch=" in after
    assert after.index("app = Table(") < after.index("class Tool(")
    compile(after, "tools.py", "exec")


def test_dots_stand_for_lines_and_parts_of_lines() -> None:
    assert agrees("one\n...\nfour", "one\ntwo\nthree\nfour")
    assert agrees("one\n...\nfour", "one\nfour")
    assert agrees("in ...s", "in 0.1s")
    assert not agrees("in ...s", "in 0.1s\nmore")
    assert not agrees("one\n...", "two\none")
    assert not agrees("a.c", "abc")


def test_a_command_may_span_several_lines() -> None:
    first, second = steps("$ one \\\n  two\nprinted\n$ three\n")
    assert (first.command, first.expected_output) == ("one \\\n  two", "printed")
    assert (second.command, second.expected_output) == ("three", "")


def test_no_page_contains_paths_of_the_author() -> None:
    names = [path.name for path in DOCS.rglob("*.md") if re.search(r"/(?:tmp|work|root)/", path.read_text())]
    assert not names


def test_the_command_in_the_readme_prints_its_output() -> None:
    console = re.compile(r"^```console\n\$ \.venv/bin/keyplan (.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    ((command, output),) = console.findall((DOCS.parent / "README.md").read_text())
    arguments = [sys.executable, "-m", "keyplan", *shlex.split(command)]
    process = subprocess.run(arguments, cwd=DOCS.parent, capture_output=True, text=True, check=False)
    assert agrees(output.strip("\n"), process.stdout.strip("\n"))
