"""The documentation as a site: made pages are fresh, links lead somewhere, and it builds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.making.hooks import designs, readmes
from docs.making.pages import DOCS, generated_pages, stale_pages

from keyplan.check.checking import FAMILIES, PAGES

ROOT = DOCS.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site strictly: a broken link or anchor, or an unlisted page, fails the build."""
    folder = tmp_path_factory.mktemp("site")
    process = build(ROOT / "mkdocs.yml", folder)
    assert process.returncode == 0, process.stderr + process.stdout
    return folder


def build(config: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Not with --quiet: warnings that are not shown are not counted either."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "--site-dir", str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


def test_generated_pages_match_the_code() -> None:
    stale = [
        name
        for name, text in generated_pages().items()
        if not (DOCS / name).is_file() or (DOCS / name).read_text() != text
    ]
    assert not stale, "regenerate them with: python -m docs.making"
    assert not stale_pages(), "nothing makes these: python -m docs.making"


def test_every_rule_is_in_one_family() -> None:
    listed = [rule.code for rules in FAMILIES.values() for rule in rules]
    assert sorted(listed) == sorted(PAGES)
    assert len(FAMILIES) == len({code[:3] for code in PAGES})


def test_the_site_builds_without_a_warning(site: Path) -> None:
    for page in ("rules/KP203", "cli", "errors", "tutorial/ship", "operations"):
        assert (site / page / "index.html").is_file()
    assert not list(site.rglob("*.py"))


def test_broken_links_fail_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Page\n\n[a page](missing.md), [a place](#missing)\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: docs\nnav: [index.md]\nhooks: []\nnot_in_nav: ''\n")
    process = build(config, tmp_path / "site")
    assert process.returncode == 1
    assert "Aborted with 2 warnings" in process.stderr + process.stdout


def test_every_system_with_a_readme_has_a_page(site: Path) -> None:
    index = (site / "systems" / "index.html").read_text()
    assert readmes()
    for name in readmes():
        assert (site / "systems" / name / "index.html").is_file()
        assert f'href="{name}/"' in index


def test_pages_of_systems_show_the_pictures_of_their_readmes(site: Path) -> None:
    for name in readmes():
        (source,) = re.findall(r'<img alt="[^"]+" src="([^"]+)"', (site / "systems" / name / "index.html").read_text())
        assert (site / "systems" / name / source).resolve().is_file()


def test_code_in_tables_shows_pipes_and_breaks_between_words(site: Path) -> None:
    page = (site / "cheatsheet" / "index.html").read_text()
    assert "<code>Task | None</code>" in page
    assert "<code>@app<wbr>.batch_<wbr>get<wbr>(<wbr>Task)</code>" in page
    assert '<code class="short">.sk.between(a, b)</code>' in page, "texts break only between words"


def test_output_in_transcripts_is_not_highlighted_as_commands(site: Path) -> None:
    page = (site / "costs" / "index.html").read_text()
    assert '<span class="go">shop: $51.01 per month' in page
    assert '<span class="gp">$ </span>keyplan<span class="w"> </span>price' in page


def test_rule_pages_have_a_bad_and_a_good_example_before_the_fix() -> None:
    headings = ["What it does", "Why is this bad?", "Example", "Bad", "Good", "Fix", "Source"]
    for name, text in generated_pages().items():
        if re.fullmatch(r"rules/KP\d+\.md", name):
            found = [
                heading.partition(": ")[0] for heading in re.findall(r"^##+ (.+)$", FENCED.sub("", text), re.MULTILINE)
            ]
            assert found[:7] == headings, name
            assert found[7:8] in ([], ["More examples"]), name


def test_every_design_of_the_developer_guide_has_a_page(site: Path) -> None:
    index = (site / "examples" / "index.html").read_text()
    assert len(designs()) == 6
    for name in designs():
        assert "from keyplan import" in re.sub("<[^>]+>", "", (site / "examples" / name / "index.html").read_text())
        assert f'href="{name}/"' in index


def test_the_site_loads_nothing_from_other_hosts(site: Path) -> None:
    loads = re.compile(
        r"<(?:script|img|link(?! rel=\"?(?:canonical|prev|next)\b))[^>]+(?:src|href)=\"?(https?://[^\" >]+)"
    )
    urls = {url for page in site.rglob("*.html") for url in loads.findall(page.read_text())}
    assert not urls


def test_the_readme_states_the_number_of_rules() -> None:
    rules = re.search(r"`keyplan check` has (\d+) rules", (DOCS / "rules" / "index.md").read_text())
    assert rules is not None
    assert f"[{rules[1]} rules](docs/checks.md)" in (ROOT / "README.md").read_text()


def test_links_lead_to_files_of_the_repository() -> None:
    """Pages are also read on GitHub, where the pages that the build generates do not exist."""
    names = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "bench/README.md", "systems/README.md")
    paths = [*DOCS.rglob("*.md"), *(ROOT / name for name in names)]
    links = [(path, link) for path in paths for link in LINK.findall(FENCED.sub("", path.read_text()))]
    assert not [
        f"{path.relative_to(ROOT)}: {link}"
        for path, link in links
        if not link.startswith("http") and not (path.parent / link).exists()
    ]
