"""The commands `keyplan check`, `keyplan rule` and `keyplan explain`."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import redirect_stdout, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from keyplan.cli.designs import Region, refusal
from keyplan.cli.price import book_of

if TYPE_CHECKING:
    from keyplan.check.checking import Report
    from keyplan.design.declaring.design import Design

Format = Literal["text", "json", "sarif", "github"]
_PAUSE_S: Final = 0.3
"""The number of seconds between two searches for changed files when `--watch` is used."""


def check(
    designs: Annotated[
        list[str], typer.Argument(help="The designs: importable modules, such as app.design, or Python files.")
    ],
    format: Annotated[Format, typer.Option("--format", help="Output format.")] = "text",
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select",
            help="Run only these rules: comma-separated rule codes, code prefixes such as KP2, or rule names.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", help="Skip these rules. Accepts the same values as --select.")
    ] = None,
    errors_only: Annotated[
        bool, typer.Option("--errors-only", help="Report only findings with severity error.")
    ] = False,
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Apply the available automatic fixes, and check again.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Print the changes that --fix would make.")] = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Keep running, and check again after each change to a Python file in a design's folder."
        ),
    ] = False,
) -> None:
    """Check designs and report findings, each with a location, a reason and a fix.

    Exit codes: 0 if no finding is an error, 1 if a finding is an error, 2 if a design cannot be loaded. With --diff,
    the exit code is 1 if --fix would change a file, 2 if a design cannot be loaded, and 0 otherwise.
    """
    if watch and (fix or diff):
        raise refusal("keyplan check: --watch cannot be combined with --fix or --diff")
    if watch:
        _watch(designs)
        return
    from keyplan.check import report  # noqa: PLC0415 - `keyplan --help` needs no rules
    from keyplan.check.checking import RULES  # noqa: PLC0415
    from keyplan.check.checking import check as check_design  # noqa: PLC0415
    from keyplan.cli.designs import load_by  # noqa: PLC0415
    from keyplan.design.declaring.partial import load_partially  # noqa: PLC0415

    selected, ignored = _codes(select), _codes(ignore)
    rules = [rule for code, rule in RULES.items() if code not in ignored and (not select or code in selected)]
    loaded = [load_by(target, load_partially) for target in designs]
    reports = [
        check_design(
            program.design,
            rules if select or ignore else None,
            refusals=program.refusals,
            unresolved=program.unresolved,
        )
        for program in loaded
    ]
    if errors_only:
        reports = [original.errors_only() for original in reports]
    if fix or diff:
        _fix([(program.design, report) for program, report in zip(loaded, reports, strict=True)], write=not diff)
        rule_options = [
            part
            for name, texts in (("--select", select), ("--ignore", ignore))
            for text in texts or ()
            for part in (name, text)
        ]
        command = ["check", *designs, "--format", format, *rule_options, *(["--errors-only"] if errors_only else [])]
        raise typer.Exit(_check_again(command))
    formats = {"text": report.text, "json": report.json, "sarif": report.sarif, "github": report.github}
    typer.echo(formats[format](reports), nl=False)
    if any(outcome.failed for outcome in reports):
        raise typer.Exit(1)


def _fix(reports: list[tuple[Design, Report]], *, write: bool) -> None:
    """Apply the fixes of findings to the source files. If `write` is False, print the fixes as a diff instead and exit.

    The exit code after a diff is 1 if the diff contains changes, and 0 otherwise.
    """
    from keyplan.check.fixes import plan_fixes  # noqa: PLC0415 - only for --fix and --diff

    changes = plan_fixes(reports)
    for change, reason in changes.refused:
        typer.echo(f"not fixed: {change}: {reason}", err=True)
    if not write:
        typer.echo("".join(edit.diff() for edit in changes.edits), nl=False)
        raise typer.Exit(1 if changes.edits else 0)
    try:
        changes.write()
    except OSError as error:
        raise refusal(f"keyplan check: {error.filename} cannot be written: {error.strerror}", code=1) from None
    for change in changes.applied:
        typer.echo(f"fixed: {change}", err=True)


def _check_again(arguments: list[str]) -> int:
    """Run the check command again in a new process and return its exit code. The process imports the changed source
    files.
    """
    command = [sys.executable, "-m", "keyplan", *arguments]
    result = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, encoding="utf-8")  # noqa: S603
    typer.echo(result.stdout, nl=False)
    return result.returncode


def _watch(designs: list[str]) -> None:
    """Run `keyplan check` in a new process now, and again whenever a source file changes."""
    command = [sys.executable, "-m", "keyplan", *(part for part in sys.argv[1:] if part != "--watch")]
    folders = [_folder(target) for target in designs]
    try:
        while True:
            versions = _files(folders)
            result = subprocess.run(command, check=False)  # noqa: S603 - the command that the user entered
            typer.echo(f"-- checked, exit code {result.returncode}; waiting for changes, stop with Ctrl-C")
            while _files(folders) == versions:
                time.sleep(_PAUSE_S)
    except KeyboardInterrupt:
        typer.echo("stopped")


def _folder(target: str) -> Path:
    """Return the directory that contains a design's file or module. Exit with 2 if it does not exist."""
    from keyplan.design.declaring.design import is_file_path  # noqa: PLC0415 - `keyplan --help` needs no designs

    if is_file_path(target):
        if not Path(target).is_file():
            raise refusal(f"keyplan: {target}: file not found")
        return Path(target).resolve().parent
    sys.path.insert(0, "")  # modules of the current folder, as with `python -m`
    try:
        module_spec = find_spec(target)
    except (ImportError, ValueError):
        module_spec = None
    if module_spec is None or module_spec.origin is None:
        raise refusal(f"keyplan: {target} cannot be imported")
    return Path(module_spec.origin).parent


def _files(folders: list[Path]) -> dict[Path, int]:
    """Map each Python file in these directories and their subdirectories to its modification time in nanoseconds."""
    modification_times = {}
    for folder in folders:
        for path in folder.rglob("*.py"):
            is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
            if not is_hidden:
                with suppress(FileNotFoundError):  # an editor is replacing it
                    modification_times[path] = path.stat().st_mtime_ns
    return modification_times


def _codes(selectors: list[str] | None) -> set[str]:
    """Return the codes of the selected rules.

    Each element of `selectors` is a comma-separated list of codes, code prefixes or slugs.
    """
    from keyplan.check.checking import CHANGE_RULES, PAGES, RULES  # noqa: PLC0415

    codes = set()
    for name in (part.strip() for text in selectors or () for part in text.split(",")):
        matches = {code for code, rule in RULES.items() if code.startswith(name.upper()) or rule.slug == name.lower()}
        if not name or not matches:
            if name.upper() in CHANGE_RULES:
                raise refusal(f"keyplan check: {name.upper()} compares two designs: `keyplan diff OLD NEW`")
            if name.upper() in PAGES:
                raise refusal(f"keyplan check: {name.upper()} cannot be selected or ignored")
            raise refusal(f"keyplan check: unknown rule: {name!r}; `keyplan rule` lists all rules")
        codes |= matches
    return codes


def rule(
    code: Annotated[
        str | None, typer.Argument(help="Code of the rule, such as KP203. Lists all rules if omitted.")
    ] = None,
) -> None:
    """Show the documentation for a rule, or list all rules."""
    from keyplan.check.checking import PAGES  # noqa: PLC0415

    if code is None:
        for page in PAGES.values():
            typer.echo(f"{page.code} {'/'.join(page.severities):15} {page.title}")
        return
    rule_page = PAGES.get(code.upper())
    if rule_page is None:
        raise refusal(f"keyplan rule: unknown rule: {code}; `keyplan rule` lists all rules")
    typer.echo(f"{rule_page.code} {rule_page.slug} ({', '.join(rule_page.severities)})\n\n{rule_page.page}")


def explain(
    target: Annotated[
        str,
        typer.Argument(
            help="A design, such as app.design or design.py, or one of its patterns or consumers, such as "
            "app.design.tasks_due or design.py:tasks_due.",
        ),
    ],
    region: Region = "us-east-1",
) -> None:
    """Explain an access pattern, a stream consumer, or a whole design.

    For an access pattern, shows its request, plan, cost and findings. For a stream consumer, shows its settings and
    findings. For a design, shows a summary of all its patterns.
    """
    from keyplan.check.checking import check  # noqa: PLC0415 - `keyplan --help` needs no designs
    from keyplan.cli.designs import load, pattern_of  # noqa: PLC0415
    from keyplan.cost.estimate import estimate  # noqa: PLC0415
    from keyplan.export import explain as explanations  # noqa: PLC0415

    module, name = _module_and_name(target)
    design = load(module)
    book = book_of("explain", region)
    findings = check(design).findings
    if not name:
        text = explanations.explain_design(design, estimate(design, book), findings)
    elif consumers := [
        (consumer, table) for table in design.tables for consumer in table.consumers if consumer.name == name
    ]:
        text = explanations.explain_consumer(*consumers[0], findings)
    else:
        text = explanations.explain(pattern_of("explain", design, name), book, findings)
    typer.echo(text, nl=False)


def _module_and_name(target: str) -> tuple[str, str]:
    """Split a target into a module or file, and the name of a pattern or consumer.

    The name is "" for the whole design.
    """
    from keyplan.design.declaring.design import is_file_path  # noqa: PLC0415 - `keyplan --help` needs no designs

    if ":" in target:
        module, _, name = target.rpartition(":")
        if not name:
            raise refusal("keyplan explain: give a name after the colon: file.py:pattern")
        return module, name
    module, _, name = target.rpartition(".")
    if is_file_path(target) or not module or _is_module(target):
        return target, ""
    return module, name


def _is_module(name: str) -> bool:
    """Return True if a dotted name is a module.

    The parent packages are imported to determine this. Their errors are ignored here, because `load` reports them.
    """
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules of the current folder, as with `python -m`
    try:
        with redirect_stdout(sys.stderr):
            return find_spec(name) is not None
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - the code of a parent package may raise any exception
        return False
