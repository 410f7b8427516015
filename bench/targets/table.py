"""The names of all targets, and the functions that open them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from bench import http
from bench.peers import PEER_NAMES, PeerError, Server, install, peer_named, running_peer, version_of
from bench.targets.bare import bare_target
from bench.targets.boto3_client import boto3_on_endpoint, moto_target
from bench.targets.engine import engine_target, engine_under_boto3
from bench.targets.model import OverHttp, Settings, Target, TargetError
from bench.targets.server import running_engine
from bench.wire import Endpoint

Opener = Callable[[str, Settings], AbstractContextManager[Target]]

HTTP = "http"
HTTP_NOTES = {
    HTTP: "keyplan serve, on disk, durability full",
    "http-normal": "keyplan serve, on disk, durability normal",
    "http-memory": "keyplan serve, in memory",
}
BOTO3_PREFIX = "boto3@"
URL_PREFIX = "http://"

OPENERS: dict[str, Opener] = {
    "engine": engine_target,
    "engine-full": engine_target,
    "engine-memory": engine_target,
    "boto3": engine_under_boto3,
    "boto3-memory": engine_under_boto3,
    "moto": moto_target,
    "bare": bare_target,
    "bare-inline": bare_target,
}

HELP = (
    "engine (in process, on a file), engine-full (every commit synced), engine-memory, boto3 (this engine under boto3 "
    "without a socket), boto3-memory, http (keyplan serve), http-normal (not synced), http-memory, moto (in process, "
    "under boto3), bare and bare-inline (SQLite alone), "
    f"{', '.join(PEER_NAMES)}, http://127.0.0.1:PORT; boto3@ before http, a peer or a URL "
    "drives it with boto3 instead of wrk"
)


@contextlib.contextmanager
def open_target(name: str, settings: Settings) -> Iterator[Target]:
    """Start the named target without items, and stop it when the block ends.

    Raises TargetError if the target is not available.
    """
    if opener := OPENERS.get(name):
        with opener(name, settings) as target:
            yield target
        return
    under_boto3 = name.startswith(BOTO3_PREFIX)
    with _endpoint(name.removeprefix(BOTO3_PREFIX), settings) as (server, note):
        if under_boto3:
            with boto3_on_endpoint(name, server.url, note, settings) as target:
                yield target
        else:
            yield OverHttp(name, f"{note}, driven by wrk", settings, server)


@contextlib.contextmanager
def _endpoint(target_name: str, settings: Settings) -> Iterator[tuple[Server, str]]:
    """Start a server by name or connect to a URL, and yield the server with a note about it."""
    if target_name.startswith(URL_PREFIX):
        with http.borrowed(target_name, settings.workload.table):
            yield Server(target_name, process_id=0), "endpoint"
    elif target_name in HTTP_NOTES:
        with running_engine(settings.folder, target_name) as server:
            yield server, HTTP_NOTES[target_name]
    else:
        peer = peer_named(target_name)
        install(peer)
        with running_peer(peer) as server:
            yield server, f"{version_of(peer)}, {peer.storage}"


def check_names(names: Sequence[str]) -> None:
    """Raise TargetError for an unknown name, and ValueError for a URL on another machine."""
    for name in names:
        target_name = name.removeprefix(BOTO3_PREFIX)
        if target_name.startswith(URL_PREFIX):
            Endpoint(target_name).close()
        elif target_name not in (*HTTP_NOTES, *PEER_NAMES) and name not in OPENERS:
            raise TargetError(f"unknown target {name}; the targets are: {HELP}")


UNAVAILABLE_ERRORS = (TargetError, PeerError, ImportError)
"""Errors raised if a target is not available on this machine."""
