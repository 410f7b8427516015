"""The command line: `python -m bench run | http | scale | floors | gsi | durable | startup | connections | gates`."""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer

from bench import connections, durable, floors, gates, gsi, report, scale, startup, suite
from bench.http import WrkError
from bench.measure import Span
from bench.peers import PEER_NAMES
from bench.targets.table import HELP, HTTP, NOT_AT_HAND
from bench.wire import AnswerError
from bench.workload import Operation, Workload

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Measures this engine, its floors and its peers.")

Items = Annotated[int, typer.Option(help="Items of 1 KB in the table.")]
Seed = Annotated[int, typer.Option(help="Seed of items and calls.")]
Seconds = Annotated[float, typer.Option(help="Seconds measured for each figure.")]
Json = Annotated[Path | None, typer.Option("--json", help="Also write everything measured to this file.")]
Operations = Annotated[str, typer.Option(help=f"Some of: {', '.join(Operation)}; separated by commas.")]

DEFAULT_ITEMS = 10_000
DEFAULT_SEED = 7
WARM_UP_S = 0.3


@app.command("run")
def run_suite(
    *,
    targets: Annotated[str, typer.Option(help=HELP)] = "engine,boto3,http,moto",
    baseline: Annotated[str, typer.Option(help="The target that ratios are against.")] = "moto",
    operations: Operations = "",
    clients: Annotated[str, typer.Option(help="Numbers of clients: threads, or connections over HTTP.")] = "1,8",
    items: Items = DEFAULT_ITEMS,
    seconds: Seconds = 1.5,
    seed: Seed = DEFAULT_SEED,
    json: Json = None,
) -> None:
    """The same operations against targets given by name."""
    plan = suite.Plan(_names(targets), _operations(operations), [int(count) for count in _names(clients)])
    with suite.settings_for(Workload(items, seed), Span(WARM_UP_S, seconds)) as settings:
        report.print_machine()
        results = suite.run(plan, settings, report.loading, report.say)
    report.print_results(results, plan, baseline)
    report.write_json(json, {"results": results})


@app.command("http")
def over_http(
    *,
    peers: Annotated[bool, typer.Option("--peers", help="Install what is at hand and measure it too.")] = False,
    targets: Annotated[str, typer.Option(help="Servers measured; http is this engine's.")] = "",
    baseline: Annotated[str, typer.Option(help="The target that ratios are against.")] = HTTP,
    operations: Operations = "",
    connections: Annotated[str, typer.Option(help="Numbers of connections.")] = "8",
    items: Items = DEFAULT_ITEMS,
    seconds: Seconds = 2,
    rounds: Annotated[int, typer.Option(help="Times each figure is taken; the median counts.")] = gates.HTTP_ROUNDS,
    seed: Seed = DEFAULT_SEED,
    json: Json = None,
) -> None:
    """Servers driven by wrk: this engine's, and with --peers the others."""
    names = _names(targets) or ((HTTP, *PEER_NAMES) if peers else (HTTP,))
    plan = suite.Plan(names, _operations(operations), [int(count) for count in _names(connections)])
    with suite.settings_for(Workload(items, seed), Span(WARM_UP_S, seconds)) as settings:
        report.print_machine()
        results = suite.run_in_turn(plan, settings, rounds, report.loading, report.say)
    report.print_results(results, plan, baseline)
    comparable = HTTP in results.notes and len(results.notes) > 1
    compared = [bound for count in plan.clients if comparable for bound in gates.http_bounds(results, count)]
    if comparable:
        report.print_bounds(compared)
    report.write_json(json, {"results": results, "bounds": compared})


@app.command("scale")
def at_scale(
    *,
    items: Items = scale.MILLION,
    target: Annotated[str, typer.Option(help="A target in this process: engine, engine-full, bare, ...")] = "engine",
    seconds: Seconds = 3,
    seed: Seed = DEFAULT_SEED,
    json: Json = None,
) -> None:
    """Get, query and put at 10,000, 100,000 and more items, with file size and memory."""
    with suite.settings_for(Workload(items, seed), Span(1, seconds)) as settings:
        report.print_machine()
        measured = scale.measured(settings, items, report.loading, target)
    report.print_scale(measured)
    if target.startswith("engine"):
        report.print_bounds(measured.bounds())
    report.write_json(json, {"scale": measured})


@app.command("floors")
def above_floors(
    *,
    only_bare: Annotated[bool, typer.Option("--only-bare", help="Measure SQLite alone.")] = False,
    items: Items = DEFAULT_ITEMS,
    seconds: Seconds = 4,
    seed: Seed = DEFAULT_SEED,
    json: Json = None,
) -> None:
    """The engine beside bare SQLite on the same rows."""
    with suite.settings_for(Workload(items, seed), Span(WARM_UP_S, seconds)) as settings:
        report.print_machine()
        measured = floors.bare_only(settings) if only_bare else floors.measured(settings)
    report.print_floors(measured)
    if not only_bare:
        report.print_bounds(floors.bounds(measured))
    report.write_json(json, {"floors": measured})


@app.command("gsi")
def of_an_index(
    *, items: Items = DEFAULT_ITEMS, seconds: Seconds = 4, seed: Seed = DEFAULT_SEED, json: Json = None
) -> None:
    """What a global secondary index adds to a put."""
    with suite.settings_for(Workload(items, seed), Span(WARM_UP_S, seconds)) as settings:
        report.print_machine()
        measured = gsi.measured(settings)
    report.print_gsi(measured)
    report.print_bounds([bound for added in measured for bound in added.bounds()])
    report.write_json(json, {"gsi": measured})


@app.command("durable")
def durable_writes(
    *, items: Items = DEFAULT_ITEMS, seconds: Seconds = 4, seed: Seed = DEFAULT_SEED, json: Json = None
) -> None:
    """Synced puts by eight threads against a commit with fsync each."""
    with suite.settings_for(Workload(items, seed), Span(WARM_UP_S, seconds)) as settings:
        report.print_machine()
        measured = durable.measured(settings)
    report.print_durable(measured)
    report.print_bounds(measured.bounds())
    report.write_json(json, {"durable": measured})


@app.command("startup")
def start(json: Json = None) -> None:
    """Time from start to first answer, in process and over HTTP."""
    with suite.settings_for(Workload(), Span()) as settings:
        report.print_machine()
        measured = startup.measured(settings)
    report.print_startup(measured)
    report.print_bounds(measured.bounds())
    report.write_json(json, {"startup": measured})


@app.command("connections")
def of_connections(json: Json = None) -> None:
    """What a connection adds to the engine's own call, and how long checks take."""
    with suite.settings_for(Workload(), Span()) as settings:
        report.print_machine()
        measured = connections.measured(settings)
    report.print_bounds(measured.bounds())
    report.write_json(json, {"connections": measured})


@app.command("gates")
def all_gates(
    *,
    peers: Annotated[
        bool, typer.Option("--peers", help="Compare with the peers too; installs what is at hand.")
    ] = False,
    scale_items: Annotated[int, typer.Option(help="Items of the large table.")] = scale.MILLION,
    items: Items = DEFAULT_ITEMS,
    seconds: Seconds = 1,
    seed: Seed = DEFAULT_SEED,
    json: Json = None,
) -> None:
    """Every required bound with the measured figure and yes or no."""
    with suite.settings_for(Workload(items, seed), Span(WARM_UP_S, seconds)) as settings:
        report.print_machine()
        bounds = gates.measured(gates.Gates(settings, report.loading, report.say, scale_items, peers))
    report.print_bounds(bounds)
    report.write_json(json, {"bounds": bounds})


def main() -> None:
    """Runs the command line; what is not at hand ends it with a sentence, not a traceback."""
    signal.signal(signal.SIGTERM, _end)
    try:
        app()
    except (*NOT_AT_HAND, AnswerError, WrkError, ValueError) as error:
        report.console.print(f"[red]{error}[/]", soft_wrap=True)
        raise SystemExit(1) from error


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    """A request to end unwinds like Ctrl-C, so that every server started is stopped."""
    raise SystemExit(128 + signal.SIGTERM)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _operations(text: str) -> tuple[Operation, ...]:
    return tuple(Operation(name) for name in _names(text)) or tuple(Operation)
