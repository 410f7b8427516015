"""Arguments and functions that several commands share."""

from __future__ import annotations

import shlex
import shutil
import sys
import sysconfig
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from keyplan.errors import KeyplanError

if TYPE_CHECKING:
    from keyplan.design.declaring.design import Design
    from keyplan.design.declaring.patterns import Pattern

DesignName: TypeAlias = Annotated[
    str, typer.Argument(help="The design: an importable module, such as app.design, or a Python file.")
]
Output: TypeAlias = Annotated[
    Path | None, typer.Option("--output", "-o", help="Output file. Defaults to standard output.")
]
Prices: TypeAlias = Annotated[
    Path | None, typer.Option("--prices", help="JSON file with prices to use instead of the prices for --region.")
]
Region: TypeAlias = Annotated[str, typer.Option("--region", help="AWS region whose prices apply.")]
Prefix: TypeAlias = Annotated[
    str,
    typer.Option(
        "--prefix", help="Prefix for each table name. Use the same value as the application's `table_prefix`."
    ),
]


def command_name() -> str:
    """Return the shell command that runs keyplan in this Python environment.

    This is "keyplan" if the program is on PATH. Otherwise, it is the path of the program or, if the program is not
    installed, a command with `-m keyplan`.
    """
    script = shutil.which("keyplan", path=sysconfig.get_path("scripts"))
    if script is None:
        return f"{shlex.quote(sys.executable)} -m keyplan"
    on_path = shutil.which("keyplan")
    if on_path is not None and Path(on_path).samefile(script):
        return "keyplan"
    path = Path(script)
    folder = Path.cwd()
    return shlex.quote(str(path.relative_to(folder) if path.is_relative_to(folder) else path))


def refusal(text: str, *, code: int = 2) -> typer.Exit:
    """Print why a command cannot continue, and return the exception to raise. `code` is the exit code."""
    typer.echo(text, err=True)
    return typer.Exit(code)


def write(command: str, text: str, output: Path | None) -> None:
    """Print the output of a command, or write it to the file `output`. Exit with 1 if the file cannot be written."""
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
    """Load the design in a module or file. If this fails, exit with 1 or 2, as described for `load_by`."""
    from keyplan.design.declaring.design import Design  # noqa: PLC0415 - `keyplan --help` needs no designs

    return load_by(target, Design.load)


class _LoadingError(KeyplanError):
    """Raised if a design cannot be loaded. `code` is the exit code of the command."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


def load_by(target: str, loader: Callable[[str], D]) -> D:
    """Return the result of `loader` for a module or file.

    If the design contains an invalid declaration, the command exits with 1. If the module or file cannot be loaded, it
    exits with 2.
    """
    try:
        return load_design(target, loader)
    except _LoadingError as error:
        raise refusal(str(error), code=error.code) from None


def load_design(target: str, loader: Callable[[str], D]) -> D:
    """Return the result of `loader` for a module or file. Raises KeyplanError if the module or file cannot be loaded.

    Output that the module prints is sent to standard error, because standard output contains only the command's output.
    """
    from keyplan.design.declaring.design import is_file_path  # noqa: PLC0415 - `keyplan --help` needs no designs
    from keyplan.design.errors import DesignError, Place, show_place  # noqa: PLC0415 - `keyplan --help` needs no designs

    if "" not in sys.path:
        sys.path.insert(0, "")  # modules of the current folder, as with `python -m`
    if is_file_path(target) and not Path(target).is_file():
        raise _LoadingError(f"keyplan: {target}: file not found")
    if not is_file_path(target) and (not target or target.startswith(".")):
        raise _LoadingError(f"keyplan: {target!r} is not the name of a module or file")
    if not is_file_path(target) and ":" in target:
        raise _LoadingError(
            f"keyplan: {target} names an object in a module: give the module, {target.partition(':')[0]}"
        )
    try:
        with redirect_stdout(sys.stderr):
            return loader(target)
    except DesignError as error:
        raise _LoadingError(str(error), 1) from None
    except ModuleNotFoundError as error:
        raise _LoadingError(f"keyplan: {target} cannot be imported: {error}") from None
    except SyntaxError as error:
        location = Place(error.filename or target, error.lineno or 0)
        raise _LoadingError(f"keyplan: {target} is not valid Python: {error.msg}\n{show_place(location)}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the design's code may raise any exception, which is shown
        raise _LoadingError(
            f"keyplan: {target} failed: {type(error).__name__}: {error}\n{_error_location(error, target)}"
        ) from None


def pattern_of(command: str, design: Design, name: str) -> Pattern[..., Any]:
    """Return the pattern with the given name. If the design does not contain it, exit with 2.

    `command` is the name of the command for the error message.
    """
    try:
        return design.pattern(name)
    except KeyError:
        names = ", ".join(pattern.name for pattern in design.patterns)
        consumers = ", ".join(consumer.name for table in design.tables for consumer in table.consumers)
        consumers_text = f"; consumers: {consumers}" if consumers and command == "explain" else ""
        raise refusal(
            f"keyplan {command}: {design.name} has no pattern {name}; it has {names}{consumers_text}"
        ) from None


def _error_location(error: BaseException, target: str) -> str:
    """Return the location of an error in the design's code as text."""
    from keyplan.design.declaring.design import is_file_path  # noqa: PLC0415 - `keyplan --help` needs no designs
    from keyplan.design.errors import Place, show_place  # noqa: PLC0415 - `keyplan --help` needs no designs

    frames = traceback.extract_tb(error.__traceback__)
    if is_file_path(target):
        design_frames = [frame for frame in frames if Path(frame.filename).resolve() == Path(target).resolve()]
    else:
        design_frames = [frame for frame in frames if "importlib" not in frame.filename]
    last_frame = (design_frames or list(frames))[-1]
    return show_place(Place(last_frame.filename, last_frame.lineno or 0))
