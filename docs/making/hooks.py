"""MkDocs hooks that generate pages for the systems and for the designs of the developer guide while the
site is built.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments.lexers.shell import BashSessionLexer

_ROOT = Path(__file__).parents[2]
_SYSTEMS = _ROOT / "systems" / "src" / "keyplan_systems"
_DESIGN = re.compile(r"`(examples/guide/(\w+)\.py)`")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#|\.\./images/)[^)]+\)")
_README = re.compile(r"\]\((?:\.\./)+systems/src/keyplan_systems/(\w+)/README\.md")
_PICTURE = re.compile(r"\]\((?:\.\./)+docs/images/")
_IMAGE = re.compile(r'<img [^>]*src="([^"]+\.png)"[^>]*>')
_OPTION = re.compile(r"--[a-z][a-z-]*")
_CELL_OR_CODE = re.compile(r"<td[^>]*>.*?</td>|<code>[^<]{1,60}</code>", re.DOTALL)
_CODE = re.compile(r"(?<=<code>)[^<]*")
_BREAK = re.compile(r"(?<=[(=,/_])(?=\w)|(?<=\w)(?=\.[a-z]|\()|(?<=[a-z])(?=[A-Z])")


def readmes() -> dict[str, str]:
    """Return the README of each system by the name of the system."""
    return {path.parent.name: path.read_text() for path in sorted(_SYSTEMS.glob("*/README.md"))}


def designs() -> dict[str, str]:
    """Return a page with the docstring and the source of each design of the developer guide, by the name of
    the design.
    """
    return {path.stem: _design_page(path) for path in sorted((_ROOT / "examples" / "guide").glob("*.py"))}


def _design_page(path: Path) -> str:
    source = path.read_text()
    title = path.stem.replace("_", " ").capitalize()
    doc = ast.get_docstring(ast.parse(source)) or ""
    code = source.partition('"""\n\n')[2]
    return f"# {title}\n\n{doc}\n\n## `examples/guide/{path.name}`\n\n```python\n{code}```\n"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the systems and the designs to the navigation."""
    for entry in config.nav or ():
        if isinstance(entry, dict) and "Systems" in entry:
            entry["Systems"] += [f"systems/{name}.md" for name in readmes()]
        if isinstance(entry, dict) and "Examples" in entry:
            entry["Examples"] += [f"examples/{name}.md" for name in designs()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the systems and designs. Links to files that are not part of the site become plain text."""
    for name, text in readmes().items():
        content = _LINK.sub(r"\1", _PICTURE.sub("](../images/", text))
        files.append(File.generated(config, f"systems/{name}.md", content=content))
    for name, text in designs().items():
        files.append(File.generated(config, f"examples/{name}.md", content=text))
    return files


def on_startup(*, command: str, dirty: bool) -> None:  # noqa: ARG001 - MkDocs passes all arguments by name
    """Highlight only lines that start with a dollar sign as commands. Pygments also takes output such as `shop: $51.01`
    and comments in output for commands.
    """
    BashSessionLexer._ps1rgx = re.compile(r"^(\$ )(.*\n?)")


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Add links to the page of examples. Replace links to the READMEs of systems with links to their pages."""
    if page.file.src_uri == "examples/index.md":
        markdown = _DESIGN.sub(r"[`\1`](\2.md)", markdown)
    root = "../" * page.file.src_uri.count("/")
    return _README.sub(rf"]({root}systems/\1.md", markdown)


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Let code in table cells break between words, and show escaped pipes without their backslash. Mark short code in
    texts, which is not broken. Link pictures to their full size.
    """
    return _IMAGE.sub(r'<a href="\1">\g<0></a>', _CELL_OR_CODE.sub(_rendered, html))


def _rendered(match: re.Match[str]) -> str:
    if match[0].startswith("<code>"):
        return match[0].replace("<code>", '<code class="short">', 1)
    return _CODE.sub(_in_cell, match[0])


def _in_cell(match: re.Match[str]) -> str:
    code = _BREAK.sub("<wbr>", match[0].replace("\\|", "|"))
    return _OPTION.sub(r'<span class="option">\g<0></span>', code)
