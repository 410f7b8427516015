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
class RunSettings:
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
class AllResults:
    """All lines, a note about each target, and the reasons for missing targets."""

    lines: list[Line] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def record_notes(self, results: Results, lines: Sequence[Line]) -> Sequence[Line]:
        """Return the lines of a suite, and store its notes."""
        self.notes.update(results.notes)
        self.missing.update(results.missing)
        return lines


Part = Callable[[Settings], Sequence[Line]]


def measure(run_settings: RunSettings, begin: Callable[[str, int], None]) -> AllResults:
    """Run each part in a temporary folder. A part that cannot be measured becomes one line with the reason.

    `begin` is called with the name of each part and the number of parts.
    """
    results = AllResults()
    if not run_settings.with_peers:
        results.missing.update(dict.fromkeys(PEER_NAMES, "--peers installs and adds them"))
    parts = _parts(run_settings, results)
    for section, part in parts.items():
        begin(section, len(parts))
        with tempfile.TemporaryDirectory(prefix="keyplan-bench-", dir=run_settings.settings.folder) as name:
            try:
                results.lines.extend(part(replace(run_settings.settings, folder=Path(name))))
            except Exception as error:  # noqa: BLE001 - a failed measurement becomes a line of the table
                results.lines.append(not_measured(section, error))
    return results


def _parts(run_settings: RunSettings, results: AllResults) -> Mapping[str, Part]:
    """Return the parts in the order in which they run.

    The measurements with a million items run early, because memory that other parts leave in this process would be
    counted as theirs. Only the start-up measurement runs before them: it uses separate processes, and the disk is busy
    for a while after loading a million items.
    """
    return {
        startup.SECTION: lambda settings: startup.measure(settings).lines(),
        scale.SECTION: lambda settings: _at_scale(run_settings, settings),
        connections.SECTION: lambda settings: connections.measure(settings).lines(),
        floors.SECTION: lambda settings: floors.lines(floors.measure(settings)),
        gsi.SECTION: lambda settings: [line for index_cost in gsi.measure(settings) for line in index_cost.lines()],
        durable.SECTION: lambda settings: durable.measure(settings).lines(),
        comparing.IN_PROCESS: lambda settings: _one_client(run_settings, results, settings),
        comparing.OVER_HTTP: lambda settings: _over_http(run_settings, results, settings),
    }


def _at_scale(run_settings: RunSettings, settings: Settings) -> Sequence[Line]:
    scale_settings = replace(settings, span=run_settings.scale_span or settings.span)
    return scale.measure(scale_settings, run_settings.scale_items, run_settings.loading).lines()


def _one_client(run_settings: RunSettings, all_results: AllResults, settings: Settings) -> Sequence[Line]:
    plan = Plan(comparing.one_client_targets(peers=run_settings.with_peers), clients=(1,))
    results = run(plan, settings, run_settings.loading, run_settings.say)
    return all_results.record_notes(results, comparing.one_client_lines(results))


def _over_http(run_settings: RunSettings, all_results: AllResults, settings: Settings) -> Sequence[Line]:
    http.wrk_path()
    plan = Plan(comparing.http_targets(peers=run_settings.with_peers), tuple(Operation), (comparing.CONNECTIONS,))
    http_settings = replace(settings, span=replace(settings.span, measure_s=HTTP_S))
    results = run_in_turn(plan, http_settings, run_settings.rounds, run_settings.loading, run_settings.say)
    return all_results.record_notes(results, comparing.http_lines(results))
