"""The peers: other local DynamoDB servers, which are installed outside the project and started on loopback with an
empty store.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

HOST = "127.0.0.1"
START_PATIENCE_S = 40
STOP_PATIENCE_S = 5
INSTALL_PATIENCE_S = 600
FOLDER_VARIABLE = "KEYPLAN_BENCH_PEERS"


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer: its source, its command and where it stores its items.

    In arguments and environment variables, {port} and {folder} are replaced with the port and the folder of the peer.
    """

    name: str
    package: str
    installer: Literal["npm", "pip"]
    executable: str
    storage: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    url: str
    process_id: int


class PeerError(Exception):
    """Raised if a peer cannot be installed or started."""


# Table states change at once, because their delay is not measured.
DYNALITE = ("--host", HOST, "--port", "{port}", "--createTableMs", "0", "--deleteTableMs", "0", "--updateTableMs", "0")
DYNOXIDE = ("serve", "--host", HOST, "--port", "{port}")
DYNALITE_PATH = "npm/node_modules/.bin/dynalite"
DYNOXIDE_PACKAGE = "@dynoxide/linux-x64"
DYNOXIDE_PATH = f"npm/node_modules/{DYNOXIDE_PACKAGE}/dynoxide"

PEERS = (
    Peer("dynalite", "dynalite", "npm", DYNALITE_PATH, "LevelDB on disk", (*DYNALITE, "--path", "{folder}/level")),
    Peer("dynalite-memory", "dynalite", "npm", DYNALITE_PATH, "memory", DYNALITE),
    Peer(
        "dynoxide",
        DYNOXIDE_PACKAGE,
        "npm",
        DYNOXIDE_PATH,
        "SQLite on disk",
        (*DYNOXIDE, "--db-path", "{folder}/items.db"),
    ),
    Peer("dynoxide-memory", DYNOXIDE_PACKAGE, "npm", DYNOXIDE_PATH, "memory", DYNOXIDE),
    Peer(
        "ministack",
        "ministack",
        "pip",
        "venv/bin/ministack",
        "memory only",
        environment=(
            ("BIND_HOST", HOST),
            ("GATEWAY_PORT", "{port}"),
            ("SERVICES", "dynamodb"),
            ("LOG_LEVEL", "WARNING"),
            ("TMPDIR", "{folder}"),
        ),
    ),
    Peer(
        "moto-server",
        "moto[server,dynamodb]",
        "pip",
        "venv/bin/moto_server",
        "memory only",
        ("-H", HOST, "-p", "{port}"),
    ),
)
PEER_NAMES = tuple(peer.name for peer in PEERS)


def peer_named(name: str) -> Peer:
    for peer in PEERS:
        if peer.name == name:
            return peer
    raise PeerError(f"unknown peer {name}; the peers are {', '.join(PEER_NAMES)}")


def peers_folder() -> Path:
    """Return the folder of installed peers: $KEYPLAN_BENCH_PEERS, or keyplan-bench in the user's cache folder."""
    if configured := os.environ.get(FOLDER_VARIABLE):
        return Path(configured)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "keyplan-bench"


def executable_of(peer: Peer) -> Path:
    return peers_folder() / peer.executable


def install(peer: Peer) -> None:
    """Install a peer from its public registry, outside the project, unless it is already installed.

    Raises PeerError with a message of one sentence if the peer is not available.
    """
    if executable_of(peer).exists():
        return
    folder = peers_folder()
    if peer.installer == "npm":
        _install_from_npm(peer, folder / "npm")
    else:
        _install_from_pypi(peer, folder / "venv")
    if not executable_of(peer).exists():
        raise PeerError(f"{peer.package} was installed but has no {peer.executable}")


def version_of(peer: Peer) -> str:
    """Return the installed version of a peer, according to its package metadata."""
    folder = peers_folder()
    if peer.installer == "npm":
        manifest = folder / "npm" / "node_modules" / peer.package / "package.json"
        return str(json.loads(manifest.read_text())["version"])
    distribution = peer.package.partition("[")[0]
    script = f"from importlib.metadata import version; print(version({distribution!r}))"
    return subprocess.run(
        [folder / "venv/bin/python", "-c", script], capture_output=True, text=True, check=True
    ).stdout.strip()


@contextlib.contextmanager
def running_peer(peer: Peer) -> Iterator[Server]:
    """Start a peer with an empty store on a free port of this machine. At the end, stop it and remove the store."""
    with tempfile.TemporaryDirectory(prefix=f"keyplan-bench-{peer.name}-") as name:
        folder, port = Path(name), free_port()
        arguments = [text.format(port=port, folder=folder) for text in peer.arguments]
        environment = {key: text.format(port=port, folder=folder) for key, text in peer.environment}
        with running_server([str(executable_of(peer)), *arguments], port, folder, environment) as server:
            yield server


@contextlib.contextmanager
def running_server(command: Sequence[str], port: int, folder: Path, environment: Mapping[str, str]) -> Iterator[Server]:
    """Start a server in a separate process group. The group is stopped when the block ends, even after an error."""
    log = folder / "server.log"
    # The servers never contact the real service, but some look for credentials when they start.
    settings = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_DEFAULT_REGION": "us-east-1"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, **settings, **environment},
            start_new_session=True,
        )
    try:
        _wait_for_port(process, port, log)
        yield Server(f"http://{HOST}:{port}", process.pid)
    finally:
        _stop(process)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        port: int = listener.getsockname()[1]
        return port


def _install_from_npm(peer: Peer, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise PeerError("npm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "package.json"
    if not manifest.exists():
        manifest.write_text('{"private": true}\n')
    _install([npm, "install", "--no-fund", "--no-audit", peer.package], folder)


def _install_from_pypi(peer: Peer, environment: Path) -> None:
    if not (environment / "bin" / "python").exists():
        environment.parent.mkdir(parents=True, exist_ok=True)
        _install([sys.executable, "-m", "venv", str(environment)], environment.parent)
    _install([str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", peer.package], environment.parent)


def _install(command: Sequence[str], folder: Path) -> None:
    try:
        process = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise PeerError(f"`{' '.join(command)}` took longer than {INSTALL_PATIENCE_S} s") from error
    if process.returncode:
        lines = (process.stderr or process.stdout).strip().splitlines() or ["no output"]
        raise PeerError(f"`{' '.join(command)}` failed: {lines[-1]}")


def _wait_for_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline_s = time.monotonic() + START_PATIENCE_S
    while time.monotonic() < deadline_s:
        if process.poll() is not None:
            raise PeerError(
                f"{process.args!r} ended with {process.returncode}: {log.read_text(errors='replace')[-500:]}"
            )
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        time.sleep(0.01)
    raise PeerError(f"{process.args!r} did not listen within {START_PATIENCE_S} s")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the server and its child processes, first with SIGTERM."""
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal_number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_PATIENCE_S)
            return
