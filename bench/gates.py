"""Every required bound, measured in one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench import connections, durable, floors, gsi, scale, startup
from bench.bounds import Bound, at_least
from bench.peers import PEER_NAMES
from bench.suite import Loading, Plan, Results, Say, run, run_in_turn
from bench.targets.model import Settings
from bench.targets.table import BOTO3_PREFIX, HTTP
from bench.workload import Operation

BOTO3_TIMES = 10.0
PEER_TIMES = 20.0
HTTP_TIMES = 2.0

BOTO3_SECTION = "unmodified boto3, no socket"
PEER_SECTION = "in process"
CONNECTIONS = 8
HTTP_ROUNDS = 3

# The operations of the comparison over HTTP.
HTTP_OPERATIONS = (
    Operation.PUT,
    Operation.GET,
    Operation.QUERY,
    Operation.COUNTER,
    Operation.TRANSACT,
    Operation.BATCH,
)
BOTO3_PEERS = ("moto", *(f"{BOTO3_PREFIX}{name}" for name in PEER_NAMES if not name.endswith("-memory")))


@dataclass(frozen=True, slots=True)
class Gates:
    """What the gates are measured with."""

    settings: Settings
    loading: Loading
    say: Say
    scale_items: int = scale.MILLION
    with_peers: bool = False


@dataclass(frozen=True, slots=True)
class Race:
    """Which target is to be how many times as quick as the best other."""

    section: str
    ours: str
    clients: int
    times: float


def measured(gates: Gates) -> list[Bound]:
    """All bounds; a part that cannot be measured gives one bound that is not met and says why."""
    settings = gates.settings
    parts: dict[str, Callable[[], Sequence[Bound]]] = {
        startup.SECTION: lambda: startup.measured(settings).bounds(),
        connections.SECTION: lambda: connections.measured(settings).bounds(),
        floors.SECTION: lambda: floors.bounds(floors.measured(settings)),
        gsi.SECTION: lambda: [bound for added in gsi.measured(settings) for bound in added.bounds()],
        durable.SECTION: lambda: durable.measured(settings).bounds(),
        BOTO3_SECTION: lambda: _boto3_bounds(gates),
        scale.SECTION: lambda: scale.measured(settings, gates.scale_items, gates.loading).bounds(),
    }
    if gates.with_peers:
        parts["over HTTP"] = lambda: _http_bounds(gates)
        parts[PEER_SECTION] = lambda: _peer_bounds(gates)
    return [bound for section, part in parts.items() for bound in _part(section, part, gates.say)]


def http_bounds(results: Results, clients: int = CONNECTIONS) -> list[Bound]:
    """This engine over HTTP against the best peer, for each operation measured."""
    race = Race(f"over HTTP, {clients} connections", HTTP, clients, HTTP_TIMES)
    seen = {row.operation for row in results.rows}
    return [_against_best(results, race, operation) for operation in HTTP_OPERATIONS if operation in seen]


def _part(section: str, part: Callable[[], Sequence[Bound]], say: Say) -> Sequence[Bound]:
    say(section)
    try:
        return part()
    except Exception as error:  # noqa: BLE001 - what cannot be measured is one line of the report
        return [Bound(section, f"not measured: {type(error).__name__}: {error}", 0, "")]


def _http_bounds(gates: Gates) -> list[Bound]:
    plan = Plan((HTTP, *PEER_NAMES), HTTP_OPERATIONS, (CONNECTIONS,))
    return http_bounds(run_in_turn(plan, gates.settings, HTTP_ROUNDS, gates.loading, gates.say))


def _boto3_bounds(gates: Gates) -> list[Bound]:
    results = _run(gates, ("boto3", "moto"), (1,), tuple(Operation))
    race = Race(BOTO3_SECTION, "boto3", 1, BOTO3_TIMES)
    return [_against_best(results, race, operation) for operation in Operation]


def _peer_bounds(gates: Gates) -> list[Bound]:
    results = _run(gates, ("engine", *BOTO3_PEERS), (1,), HTTP_OPERATIONS)
    race = Race(PEER_SECTION, "engine", 1, PEER_TIMES)
    return [_against_best(results, race, operation) for operation in HTTP_OPERATIONS]


def _run(gates: Gates, targets: Sequence[str], clients: Sequence[int], operations: Sequence[Operation]) -> Results:
    return run(Plan(targets, operations, clients), gates.settings, gates.loading, gates.say)


def _against_best(results: Results, race: Race, operation: Operation) -> Bound:
    figure = results.figure(race.ours, operation, race.clients)
    best = results.best_other(race.ours, operation, race.clients)
    if figure is None or best is None:
        reason = _reason(results, race.ours, operation) if figure is None else "nothing to compare with"
        return Bound(race.section, f"{operation}: not measured: {reason}", race.times, "x", "at least")
    name, other = best
    what = f"{operation}: {figure.per_second:,.0f}/s / {name} {other.per_second:,.0f}/s"
    return at_least(race.section, what, figure.per_second / other.per_second, race.times, "x")


def _reason(results: Results, target: str, operation: Operation) -> str:
    if target in results.missing:
        return results.missing[target]
    reasons = [row.reason for row in results.rows if (row.target, row.operation) == (target, operation) and row.reason]
    return "; ".join(reasons) or "no figure"
