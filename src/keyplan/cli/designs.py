"""Arguments that several commands take."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import typer

from keyplan.design.declaring.design import Design, is_file_path
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.errors import DesignError, Place, show_place

DesignName: TypeAlias = Annotated[str, typer.Argument(help="A design module (a.b.design) or Python file.")]
Output: TypeAlias = Annotated[
    Path | None, typer.Option("--output", "-o", help="Where to write it; printed if left out.")
]
Prices: TypeAlias = Annotated[
    Path | None, typer.Option("--prices", help="A file of prices of your own, in place of those of --region.")
]
Region: TypeAlias = Annotated[str, typer.Option("--region", help="The region whose prices are used.")]
Prefix: TypeAlias = Annotated[
    str, typer.Option("--prefix", help="What stands before each table's name, as table_prefix in a connection's URL.")
]


def refusal(text: str, *, code: int = 2) -> typer.Exit:
    """The end of a command that cannot do what it is asked, once that is told."""
    typer.echo(text, err=True)
    return typer.Exit(code)


def write(command: str, text: str, output: Path | None) -> None:
    """Print a document, or write it to a file; ends the command with 1 where that cannot be written."""
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise refusal(f"keyplan {command}: {output} cannot be written: {error.strerror}", code=1) from None
    typer.echo(f"{output}: {len(text.splitlines())} lines")


D = TypeVar("D")


def load(target: str) -> Design:
    """The design of a module or file, as `load_by` gives it."""
    return load_by(target, Design.load)


def load_by(target: str, loader: Callable[[str], D]) -> D:
    """What a loader makes of a module or file.

    What its own code prints goes to standard error: the other output is the command's. Ends the command where there is
    none: with 1 for a fault in its declarations, with 2 for what cannot be read.
    """
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules of the folder the command runs in, as `python -m` finds them
    if is_file_path(target) and not Path(target).is_file():
        raise refusal(f"keyplan: {target}: there is no such file")
    if not is_file_path(target) and (not target or target.startswith(".")):
        raise refusal(f"keyplan: {target!r} is no name of a module or file")
    if not is_file_path(target) and ":" in target:
        raise refusal(f"keyplan: {target} names something in a module: give the module, {target.partition(':')[0]}")
    try:
        with redirect_stdout(sys.stderr):
            return loader(target)
    except DesignError as error:
        raise refusal(str(error), code=1) from None
    except ModuleNotFoundError as error:
        raise refusal(f"keyplan: {target} cannot be imported: {error}") from None
    except SyntaxError as error:
        place = Place(error.filename or target, error.lineno or 0)
        raise refusal(f"keyplan: {target} is no Python: {error.msg}\n{show_place(place)}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the design's own code raises is shown there
        raise refusal(f"keyplan: {target} failed: {type(error).__name__}: {error}\n{_where(error, target)}") from None


def pattern_of(command: str, design: Design, name: str) -> Pattern[..., Any]:
    """The pattern of a name; ends the command with 2 where there is none."""
    try:
        return design.pattern(name)
    except KeyError:
        known = ", ".join(one.name for one in design.patterns)
        raise refusal(f"keyplan {command}: {design.name} has no pattern {name}; it has {known}") from None


def _where(error: BaseException, target: str) -> str:
    """The last line of the design's own that was running."""
    frames = traceback.extract_tb(error.__traceback__)
    if is_file_path(target):
        own = [frame for frame in frames if Path(frame.filename).resolve() == Path(target).resolve()]
    else:
        own = [frame for frame in frames if "importlib" not in frame.filename]
    last = (own or list(frames))[-1]
    return show_place(Place(last.filename, last.lineno or 0))
