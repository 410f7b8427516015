"""MkDocs hooks: a page for every system that has a README, made while the site is built."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_SYSTEMS = Path(__file__).parents[2] / "systems" / "src" / "keyplan_systems"
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)[^)]+\)")
_LIST = "<!-- systems -->"


def readmes() -> dict[str, str]:
    """By a system's name: its README."""
    return {path.parent.name: path.read_text() for path in sorted(_SYSTEMS.glob("*/README.md"))}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the systems into the navigation."""
    for entry in config.nav or ():
        if isinstance(entry, dict) and "Systems" in entry:
            entry["Systems"] += [f"systems/{name}.md" for name in readmes()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add their pages; links into the repository, which the site does not hold, become plain text."""
    for name, text in readmes().items():
        files.append(File.generated(config, f"systems/{name}.md", content=_LINK.sub(r"\1", text)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """List them on the page of systems. MkDocs hands over more than is needed, by name."""
    if page.file.src_uri != "systems/index.md":
        return markdown
    lines = [f"* [{_title(text)}]({name}.md)" for name, text in readmes().items()]
    return markdown.replace(_LIST, "\n".join(lines))


def _title(readme: str) -> str:
    return readme.partition("\n")[0].removeprefix("# ")
