"""Comparisons of targets for every operation: in process, with boto3, and over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.lines import PER_SECOND, Line
from bench.peers import PEER_NAMES
from bench.suite import Results, clients_text
from bench.targets.table import BOTO3_PREFIX, HTTP
from bench.workload import Operation

IN_PROCESS = "in process, 1 client"
UNDER_BOTO3 = "unmodified boto3, 1 client"
OVER_HTTP = "over HTTP"
CONNECTIONS = 8

PEER_TIMES = 20.0
MOTO_TIMES = 10.0
HTTP_TIMES = 2.0

MOTO = "moto"
BOTO3_HTTP = f"{BOTO3_PREFIX}{HTTP}"
BOTO3_PEERS = tuple(f"{BOTO3_PREFIX}{name}" for name in PEER_NAMES if not name.endswith("-memory"))
IN_MEMORY = ("dynalite-memory", "dynoxide-memory", "ministack", "moto-server")
ON_DISK = ("dynalite", "dynoxide")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of one of keyplan's targets with others: one line for each of them, or only for the fastest."""

    section: str
    own_target: str
    other_targets: Sequence[str]
    clients: int = 1
    times: Mapping[str, float] = field(default_factory=dict)
    """Required speed as a multiple of the speed of each other target."""
    only_best: bool = False

    def lines(self, results: Results, operation: Operation) -> list[Line]:
        """Return a line for each requested other target, or one line without a comparison if no other target was
        requested.

        The list is empty if keyplan's own target was not requested.
        """
        requested = {*results.notes, *results.missing}
        if self.own_target not in requested:
            return []
        other_targets = [name for name in self.other_targets if name in requested]
        if self.only_best:
            best = results.best(other_targets, operation, self.clients)
            other_targets = [best] if best else []
        return [self._line(results, operation, name) for name in other_targets or [""]]

    def _line(self, results: Results, operation: Operation, against: str) -> Line:
        own_figure, other = (results.figure(name, operation, self.clients) for name in (self.own_target, against))
        return Line(
            self.section,
            operation.value,
            self.own_target,
            own_figure.per_second if own_figure else None,
            PER_SECOND,
            against,
            other.per_second if other else None,
            self.times.get(against),
            "at least",
            self._reason(results, operation, against),
        )

    def _reason(self, results: Results, operation: Operation, against: str) -> str:
        """Return why an available target has no figure. Targets that are not available are reported elsewhere, once for
        each.
        """
        available = [name for name in (self.own_target, against) if name in results.notes]
        names = [name for name in available if not results.figure(name, operation, self.clients)]
        return "; ".join(f"{name}: {results.reason(name, operation, self.clients)}" for name in names)


UNDER_BOTO3_OTHERS = (MOTO, *BOTO3_PEERS)
ONE_CLIENT = (
    Comparison(IN_PROCESS, "engine", UNDER_BOTO3_OTHERS, times=dict.fromkeys(UNDER_BOTO3_OTHERS, PEER_TIMES)),
    Comparison(IN_PROCESS, "engine-full", UNDER_BOTO3_OTHERS, only_best=True),
    Comparison(IN_PROCESS, "engine-memory", UNDER_BOTO3_OTHERS, only_best=True),
    Comparison(UNDER_BOTO3, "boto3", UNDER_BOTO3_OTHERS, times={MOTO: MOTO_TIMES}),
    Comparison(UNDER_BOTO3, "boto3-memory", (MOTO,)),
    Comparison(UNDER_BOTO3, BOTO3_HTTP, BOTO3_PEERS, only_best=True),
)


def one_client_targets(*, peers: bool) -> Sequence[str]:
    """Return all targets that one client calls from Python. Without `peers`, return only those that need no further
    packages.
    """
    own_targets = ("engine", "engine-full", "engine-memory", "boto3", "boto3-memory", MOTO)
    return (*own_targets, BOTO3_HTTP, *BOTO3_PEERS) if peers else own_targets


def one_client_lines(results: Results) -> list[Line]:
    """Return the lines for one client, sorted by section and then by operation."""
    sections = dict.fromkeys(comparison.section for comparison in ONE_CLIENT)
    return [
        line
        for section in sections
        for operation in results.operations()
        for comparison in ONE_CLIENT
        if comparison.section == section
        for line in comparison.lines(results, operation)
    ]


def http_section(clients: int) -> str:
    return f"{OVER_HTTP}, {clients_text(clients).replace('client', 'connection')}"


def http_targets(*, peers: bool) -> Sequence[str]:
    own_targets = (HTTP, "http-normal", "http-memory")
    return (*own_targets, *PEER_NAMES) if peers else own_targets


def http_lines(results: Results, clients: int = CONNECTIONS) -> list[Line]:
    """Return lines that compare keyplan's server with each peer, and then without syncs and in memory with the fastest
    peer.
    """
    section = http_section(clients)
    comparisons = (
        Comparison(section, HTTP, PEER_NAMES, clients, dict.fromkeys(PEER_NAMES, HTTP_TIMES)),
        Comparison(section, "http-normal", ON_DISK, clients, only_best=True),
        Comparison(section, "http-memory", IN_MEMORY, clients, only_best=True),
    )
    return [
        line
        for operation in results.operations()
        for comparison in comparisons
        for line in comparison.lines(results, operation)
    ]
