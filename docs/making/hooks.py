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

_ROOT = Path(__file__).parents[2]
_SYSTEMS = _ROOT / "systems" / "src" / "keyplan_systems"
_DESIGN = re.compile(r"`(examples/guide/(\w+)\.py)`")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#|\.\./images/)[^)]+\)")
_PICTURE = re.compile(r"\]\((?:\.\./)+docs/images/")
_CELL_OR_CODE = re.compile(r"<td[^>]*>.*?</td>|<code>[^<]{1,60}</code>", re.DOTALL)
_CODE = re.compile(r"(?<=<code>)[^<]*")
_BREAK = re.compile(r"(?<=[(=,/_])(?=\w)|(?<=\w)(?=\.[a-z]|\()|(?<=[a-z])(?=[A-Z])")
_LIST = "<!-- systems -->"


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


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Add the list of systems to the page of systems, and links to the page of examples. MkDocs passes all arguments by
    name.
    """
    if page.file.src_uri == "examples/index.md":
        return _DESIGN.sub(r"[`\1`](\2.md)", markdown)
    if page.file.src_uri != "systems/index.md":
        return markdown
    lines = [f"* [{_title(text)}]({name}.md)" for name, text in readmes().items()]
    return markdown.replace(_LIST, "\n".join(lines))


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Let code in table cells break between words, show escaped pipes without their backslash, and mark short code in
    texts, which is not broken.
    """
    return _CELL_OR_CODE.sub(_rendered, html)


def _rendered(match: re.Match[str]) -> str:
    if match[0].startswith("<code>"):
        return match[0].replace("<code>", '<code class="short">', 1)
    return _CODE.sub(lambda code: _BREAK.sub("<wbr>", code[0].replace("\\|", "|")), match[0])


def _title(readme: str) -> str:
    return readme.partition("\n")[0].removeprefix("# ")
