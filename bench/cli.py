"""The command line: `python -m bench all | readme | run | http | scale | floors | gsi | ...`."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer

from bench import (
    comparing,
    connections,
    durable,
    floors,
    gsi,
    maintenance,
    parts,
    published,
    report,
    scale,
    startup,
    suite,
)
from bench.display import Display
from bench.http import WrkError
from bench.measure import Span
from bench.peers import PEER_NAMES
from bench.targets.table import HELP, HTTP, UNAVAILABLE_ERRORS
from bench.wire import AnswerError
from bench.workload import Operation, Workload

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Measure keyplan, bare SQLite and other servers.")

Items = Annotated[int, typer.Option(help="Number of 1 KB items in the table.")]
Seed = Annotated[int, typer.Option(help="Random seed for items and calls.")]
Seconds = Annotated[float, typer.Option(help="Seconds of measurement for each figure.")]
Folder = Annotated[
    Path | None, typer.Option(help="Keep the databases in this folder, and load only the missing items.")
]
Json = Annotated[Path | None, typer.Option("--json", help="Also write all measurements to this file.")]
Operations = Annotated[
    str, typer.Option(help=f"Operations to measure, separated by commas: {', '.join(Operation)}. Defaults to all.")
]
Peers = Annotated[bool, typer.Option("--peers", help="Install the available peers and compare with them.")]
Quick = Annotated[
    bool, typer.Option("--quick", help="Run shorter, with at most 100,000 items and one round over HTTP.")
]
Keep = Annotated[bool, typer.Option("--keep", help="Store the figures in bench/results.json and update the pages.")]

DEFAULT_ITEMS = 10_000
DEFAULT_SEED = 7
WARM_UP_S = 0.3
WHOLE_SPAN = Span(0.2, 1)
SCALE_SPAN = Span(1, 3)
QUICK_SPAN = Span(0.1, 0.4)
QUICK_SCALE_ITEMS = 100_000


@app.command("run")
def run_suite(
    *,
    targets: Annotated[str, typer.Option(help=HELP)] = "engine,boto3,http,moto",
    baseline: Annotated[str, typer.Option(help="Target to which the others are compared.")] = "moto",
    operations: Operations = "",
    clients: Annotated[str, typer.Option(help="Numbers of clients (threads, or connections over HTTP).")] = "1,8",
    items: Items = DEFAULT_ITEMS,
    seconds: Seconds = 1.5,
    seed: Seed = DEFAULT_SEED,
    json: Json = None,
) -> None:
    """Measure the same operations on the named targets."""
    plan = suite.Plan(_names(targets), _operations(operations), [int(count) for count in _names(clients)])
    with suite.settings_for(Workload(items, seed), Span(WARM_UP_S, seconds)) as settings:
        report.print_machine()
        results = suite.run(plan, settings, report.loading, report.say)
    report.print_results(results, plan, baseline)
    report.write_json(json, {"results": results})


@app.command("http")
def over_http(
    *,
    peers: Annotated[bool, typer.Option("--peers", help="Install the available peers and measure them too.")] = False,
    targets: Annotated[str, typer.Option(help="Servers to measure. http is keyplan's server.")] = "",
    baseline: Annotated[str, typer.Option(help="Target to which the others are compared.")] = HTTP,
    operations: Operations = "",
    connections: Annotated[str, typer.Option(help="Numbers of connections.")] = "8",
    items: Items = DEFAULT_ITEMS,
    seconds: Seconds = 2,
    rounds: Annotated[
        int, typer.Option(help="Rounds for each figure, of which the median is used.")
    ] = parts.HTTP_ROUNDS,
    seed: Seed = DEFAULT_SEED,
    json: Json = None,
) -> None:
    """Measure keyplan's server with wrk, and with --peers also the other servers."""
    names = _names(targets) or ((HTTP, *PEER_NAMES) if peers else (HTTP,))
    plan = suite.Plan(names, _operations(operations), [int(count) for count in _names(connections)])
    with suite.settings_for(Workload(items, seed), Span(WARM_UP_S, seconds)) as settings:
        report.print_machine()
        results = suite.run_in_turn(plan, settings, rounds, report.loading, report.say)
    report.print_results(results, plan, baseline)
    lines = [line for count in plan.clients for line in comparing.http_lines(results, count)]
    if compared_lines := [line for line in lines if line.against]:
        report.print_lines(compared_lines)
    report.write_json(json, {"results": results, "lines": lines})


@app.command("scale")
def at_scale(
    *,
    items: Items = scale.MILLION,
    target: Annotated[str, typer.Option(help="A target in this process: engine, engine-full, bare, ...")] = "engine",
    seconds: Seconds = 3,
    folder: Folder = None,
    seed: Seed = DEFAULT_SEED,
    json: Json = None,
) -> None:
    """Measure get, query and put at 10,000, 100,000 and more items, compared with bare SQLite: cold, warm and mixed."""
    with suite.settings_for(Workload(items, seed), Span(SCALE_SPAN.warm_up_s, seconds)) as settings:
        report.print_machine()
        in_folder = replace(settings, folder=folder or settings.folder)
        measured = scale.measure(in_folder, items, report.loading, target)
    report.print_scale(measured)
    if target.startswith("engine"):
        report.print_lines(measured.lines())
    report.write_json(json, {"scale": measured})


@app.command("maintenance")
def of_maintenance(
    *,
    items: Items = scale.MILLION,
    limit: Annotated[
        float, typer.Option(help="Seconds after which a job is stopped. The items processed so far count.")
    ] = 3600,
    folder: Folder = None,
    seed: Seed = DEFAULT_SEED,
    json: Json = None,
) -> None:
    """Measure puts while an index is backfilled, items expire, a table is exported and a file is checked."""
    with suite.settings_for(Workload(items, seed), Span()) as settings:
        report.print_machine()
        in_folder = replace(settings, folder=folder or settings.folder)
        measured = maintenance.measure(in_folder, limit, report.loading, report.say)
    report.print_lines([line for job in measured for line in job.lines()])
    report.write_json(json, {"maintenance": measured})


@app.command("floors")
def above_floors(
    *,
    only_bare: Annotated[bool, typer.Option("--only-bare", help="Measure SQLite without the engine.")] = False,
    items: Items = DEFAULT_ITEMS,
    seconds: Seconds = 4,
    seed: Seed = DEFAULT_SEED,
    json: Json = None,
) -> None:
    """Compare the engine with bare SQLite on the same rows."""
    with suite.settings_for(Workload(items, seed), Span(WARM_UP_S, seconds)) as settings:
        report.print_machine()
        measured = floors.bare_only(settings) if only_bare else floors.measure(settings)
    report.print_floors(measured)
    if not only_bare:
        report.print_lines(floors.lines(measured))
    report.write_json(json, {"floors": measured})


@app.command("gsi")
def of_an_index(
    *, items: Items = DEFAULT_ITEMS, seconds: Seconds = 4, seed: Seed = DEFAULT_SEED, json: Json = None
) -> None:
    """Measure how much time a global secondary index adds to a put."""
    with suite.settings_for(Workload(items, seed), Span(WARM_UP_S, seconds)) as settings:
        report.print_machine()
        measured = gsi.measure(settings)
    report.print_gsi(measured)
    report.print_lines([line for index_cost in measured for line in index_cost.lines()])
    report.write_json(json, {"gsi": measured})


@app.command("durable")
def durable_writes(
    *, items: Items = DEFAULT_ITEMS, seconds: Seconds = 4, seed: Seed = DEFAULT_SEED, json: Json = None
) -> None:
    """Compare synced puts by eight threads with individual commits that each call fsync."""
    with suite.settings_for(Workload(items, seed), Span(WARM_UP_S, seconds)) as settings:
        report.print_machine()
        measured = durable.measure(settings)
    report.print_durable(measured)
    report.print_lines(measured.lines())
    report.write_json(json, {"durable": measured})


@app.command("startup")
def start(json: Json = None) -> None:
    """Measure the time from start to the first response, in process and over HTTP."""
    with suite.settings_for(Workload(), Span()) as settings:
        report.print_machine()
        measured = startup.measure(settings)
    report.print_startup(measured)
    report.print_lines(measured.lines())
    report.write_json(json, {"startup": measured})


@app.command("connections")
def of_connections(json: Json = None) -> None:
    """Measure the time that a connection adds to the engine's own call, and the duration of checks."""
    with suite.settings_for(Workload(), Span()) as settings:
        report.print_machine()
        measured = connections.measure(settings)
    report.print_lines(measured.lines())
    report.write_json(json, {"connections": measured})


@app.command("all")
def everything(
    *, peers: Peers = False, quick: Quick = False, keep: Keep = False, seed: Seed = DEFAULT_SEED, json: Json = None
) -> None:
    """Run all parts and print one table. With --keep, also update the published figures."""
    if keep and (quick or not peers):
        raise typer.BadParameter("what is kept is a whole run with --peers")
    record = _run_all(Workload(DEFAULT_ITEMS, seed), peers=peers, quick=quick)
    report.print_lines(record.lines)
    report.print_missing(record.missing)
    if json:
        published.write(record, json)
    if keep:
        published.write(record)
        readme()


@app.command("gates")
def only_gates(*, peers: Peers = False, quick: Quick = False, seed: Seed = DEFAULT_SEED, json: Json = None) -> None:
    """Run all parts, and show only the lines that have a required limit."""
    record = _run_all(Workload(DEFAULT_ITEMS, seed), peers=peers, quick=quick)
    report.print_lines([line for line in record.lines if line.limit is not None])
    report.print_missing(record.missing)
    if json:
        published.write(record, json)


@app.command()
def readme() -> None:
    """Fill in the figures of the README and the documentation from bench/results.json."""
    for path in published.fill(published.read()):
        report.console.print(f"filled {path.name}")


def _run_all(workload: Workload, *, peers: bool, quick: bool) -> published.Record:
    """Run all parts. The machine is described before it is under load."""
    machine = report.machine()
    report.print_machine(machine)
    span, items, rounds = (
        (QUICK_SPAN, QUICK_SCALE_ITEMS, 1) if quick else (WHOLE_SPAN, scale.MILLION, parts.HTTP_ROUNDS)
    )
    with suite.settings_for(workload, span) as settings, Display(report.progress_console) as display:
        scale_span = None if quick else SCALE_SPAN
        run_settings = parts.RunSettings(settings, display.loading, display.say, items, rounds, peers, scale_span)
        all_results = parts.measure(run_settings, display.begin)
    return published.Record(
        report.publishable_facts(machine), all_results.notes, all_results.missing, all_results.lines
    )


def main() -> None:
    """Run the command line. A missing program or package is reported in one sentence, without a traceback."""
    signal.signal(signal.SIGTERM, _exit_on_signal)
    try:
        app()
    except (*UNAVAILABLE_ERRORS, AnswerError, WrkError, ValueError) as error:
        report.console.print(f"[red]{error}[/]", soft_wrap=True)
        raise SystemExit(1) from error


def _exit_on_signal(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Raise SystemExit on SIGTERM, so that every started server is stopped, as on Ctrl-C."""
    raise SystemExit(128 + signal.SIGTERM)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _operations(text: str) -> tuple[Operation, ...]:
    return tuple(Operation(name) for name in _names(text)) or tuple(Operation)
