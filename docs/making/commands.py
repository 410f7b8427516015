"""The page of the command line, generated from the functions that implement the commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from typer import Typer
from typer.models import ArgumentInfo, OptionInfo

from keyplan.cli.main import app

_HEAD = """# Command line

`keyplan --help` lists the commands, and `keyplan COMMAND --help` shows the options of a command.
`keyplan --install-completion` adds completion to your shell (bash, zsh, fish, PowerShell).

| exit code | meaning |
|---|---|
| 0 | success |
| 1 | findings, or the command failed |
| 2 | invalid arguments |
"""
_KINDS = {int: "integer", str: "text", float: "number", Path: "path"}


@dataclass(frozen=True)
class _Parameter:
    name: str
    info: ArgumentInfo | OptionInfo
    kind: Any
    """The type of the parameter, without Annotated and None."""
    default: Any

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


def pages() -> dict[str, str]:
    """Return the page of the command line by its path under docs/."""
    commands = dict(sorted(_commands()))
    lines = ["| command | does |", "|---|---|"]
    lines += [
        f"| [`{name}`](#{_anchor(name)}) | {_summary_and_help(command)[0]} |" for name, command in commands.items()
    ]
    parts = [_HEAD, "\n".join(lines) + "\n", *(_section(name, command) for name, command in commands.items())]
    return {"cli.md": "\n".join(parts)}


def _commands(group: Typer = app, prefix: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the commands of a group and of its subgroups, each with its full name."""
    for command in group.registered_commands:
        assert command.callback is not None, "commands are functions"
        yield prefix + (command.name or command.callback.__name__.replace("_", "-")), command.callback
    for subgroup in group.registered_groups:
        assert subgroup.typer_instance is not None, "groups are applications of their own"
        yield from _commands(subgroup.typer_instance, f"{prefix}{subgroup.name} ")


def _anchor(name: str) -> str:
    """Return the anchor of a command's heading, as links use it."""
    return f"keyplan-{name.replace(' ', '-')}"


def _summary_and_help(command: Callable[..., Any]) -> tuple[str, str]:
    """Return the first paragraph of a command's help as one line, and the whole help."""
    text = inspect.cleandoc(command.__doc__ or "")
    return " ".join(text.partition("\n\n")[0].split()), text


def _parameters(command: Callable[..., Any]) -> Iterator[_Parameter]:
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        assert get_origin(hints[name]) is Annotated, f"{name} is annotated with what its help says"
        kind, info = get_args(hints[name])
        yield _Parameter(name, info, _without_none(kind), parameter.default)


def _without_none(kind: Any) -> Any:
    if get_origin(kind) in {Union, UnionType}:
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
    return kind


def _section(name: str, command: Callable[..., Any]) -> str:
    parameters = list(_parameters(command))
    arguments = [parameter for parameter in parameters if isinstance(parameter.info, ArgumentInfo)]
    options = [parameter for parameter in parameters if isinstance(parameter.info, OptionInfo)]
    usage = " ".join(["keyplan", name, *(["[OPTIONS]"] if options else []), *map(_placeholder, arguments)])
    text = f"## keyplan {name}\n\n```text\n{usage}\n```\n\n{_summary_and_help(command)[1]}\n"
    if arguments:
        text += _table(
            ("argument", "meaning"), [(f"`{_placeholder(parameter)}`", _meaning(parameter)) for parameter in arguments]
        )
    if options:
        rows = [(_spelling(parameter), _meaning(parameter), _default(parameter)) for parameter in options]
        text += _table(("option", "meaning", "default"), rows)
    return text


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n" + "\n".join(lines) + "\n"


def _placeholder(argument: _Parameter) -> str:
    name = argument.name.upper() + ("..." if get_origin(argument.kind) is list else "")
    return name if argument.required else f"[{name}]"


def _spelling(option: _Parameter) -> str:
    """Return the names of an option and the kind of its value."""
    assert isinstance(option.info, OptionInfo), "called for options"
    declarations = (option.info.default, *(option.info.param_decls or ()))  # typer keeps the first name as the default
    declared = [name for name in declarations if isinstance(name, str)] or [f"--{option.name.replace('_', '-')}"]
    names = ", ".join(f"`{name}`" for name_part in declared for name in name_part.split("/"))
    return f"{names} {_kind(option.kind)}".strip()


def _kind(kind: Any) -> str:
    if get_origin(kind) is list:
        return f"{_kind(get_args(kind)[0])}, repeatable"
    if get_origin(kind) is Literal:
        return " or ".join(get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return " or ".join(choice.value for choice in kind)
    return "" if kind is bool else _KINDS[kind]


def _meaning(parameter: _Parameter) -> str:
    choices = _kind(parameter.kind) if get_origin(parameter.kind) is Literal else ""
    is_argument = isinstance(parameter.info, ArgumentInfo)
    info = (parameter.info.help or "").removesuffix(" Can be repeated.")  # the spelling of an option shows it
    return f"{info} {f'One of {choices}.' if choices and is_argument else ''}".strip()


def _default(option: _Parameter) -> str:
    value = getattr(option.default, "value", option.default)
    if option.required:
        return "required"
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"`{value}`"
