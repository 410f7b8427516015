"""All measurements, which run one after another and result in the lines of one table."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench import comparing, connections, durable, floors, gsi, http, scale, startup
from bench.lines import Line, not_measured
from bench.measure import Span
from bench.peers import PEER_NAMES
from bench.suite import Loading, Plan, Results, Say, run, run_in_turn
from bench.targets.model import Settings
from bench.workload import Operation

HTTP_ROUNDS = 3
HTTP_S = 1.0


@dataclass(frozen=True, slots=True)
class Whole:
    """The settings of a complete run."""

    settings: Settings
    loading: Loading
    say: Say
    scale_items: int = scale.MILLION
    rounds: int = HTTP_ROUNDS
    with_peers: bool = False
    scale_span: Span | None = None
    """Durations for measurements with a million items, whose caches fill slowly. If None, those of the other parts are
    used.
    """


@dataclass(slots=True)
class Measured:
    """All lines, a note about each target, and the reasons for missing targets."""

    lines: list[Line] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def of(self, results: Results, lines: Sequence[Line]) -> Sequence[Line]:
        """Return the lines of a suite, and store its notes."""
        self.notes.update(results.notes)
        self.missing.update(results.missing)
        return lines


Part = Callable[[Settings], Sequence[Line]]


def measured(whole: Whole, begin: Callable[[str, int], None]) -> Measured:
    """Run each part in a temporary folder. A part that cannot be measured becomes one line with the reason.

    `begin` is called with the name of each part and the number of parts.
    """
    found = Measured()
    if not whole.with_peers:
        found.missing.update(dict.fromkeys(PEER_NAMES, "--peers installs and adds them"))
    parts = _parts(whole, found)
    for section, part in parts.items():
        begin(section, len(parts))
        with tempfile.TemporaryDirectory(prefix="keyplan-bench-", dir=whole.settings.folder) as name:
            try:
                found.lines.extend(part(replace(whole.settings, folder=Path(name))))
            except Exception as error:  # noqa: BLE001 - a failed measurement becomes a line of the table
                found.lines.append(not_measured(section, error))
    return found


def _parts(whole: Whole, found: Measured) -> Mapping[str, Part]:
    """Return the parts in the order in which they run.

    The measurements with a million items run early, because memory that other parts leave in this process would be
    counted as theirs. Only the start-up measurement runs before them: it uses separate processes, and the disk is busy
    for a while after loading a million items.
    """
    return {
        startup.SECTION: lambda settings: startup.measured(settings).lines(),
        scale.SECTION: lambda settings: _at_scale(whole, settings),
        connections.SECTION: lambda settings: connections.measured(settings).lines(),
        floors.SECTION: lambda settings: floors.lines(floors.measured(settings)),
        gsi.SECTION: lambda settings: [line for added in gsi.measured(settings) for line in added.lines()],
        durable.SECTION: lambda settings: durable.measured(settings).lines(),
        comparing.IN_PROCESS: lambda settings: _one_client(whole, found, settings),
        comparing.OVER_HTTP: lambda settings: _over_http(whole, found, settings),
    }


def _at_scale(whole: Whole, settings: Settings) -> Sequence[Line]:
    at_length = replace(settings, span=whole.scale_span or settings.span)
    return scale.measured(at_length, whole.scale_items, whole.loading).lines()


def _one_client(whole: Whole, found: Measured, settings: Settings) -> Sequence[Line]:
    plan = Plan(comparing.one_client_targets(peers=whole.with_peers), clients=(1,))
    results = run(plan, settings, whole.loading, whole.say)
    return found.of(results, comparing.one_client_lines(results))


def _over_http(whole: Whole, found: Measured, settings: Settings) -> Sequence[Line]:
    http.wrk_path()
    plan = Plan(comparing.http_targets(peers=whole.with_peers), tuple(Operation), (comparing.CONNECTIONS,))
    in_seconds = replace(settings, span=replace(settings.span, measure_s=HTTP_S))
    results = run_in_turn(plan, in_seconds, whole.rounds, whole.loading, whole.say)
    return found.of(results, comparing.http_lines(results))
