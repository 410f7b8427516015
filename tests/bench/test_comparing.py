"""Comparisons of targets, computed from fixed figures."""

from __future__ import annotations

from bench.comparing import (
    BOTO3_PEERS,
    IN_PROCESS,
    UNDER_BOTO3,
    http_lines,
    http_targets,
    one_client_lines,
    one_client_targets,
)
from bench.peers import PEER_NAMES
from bench.suite import Results
from bench.workload import Operation

from .making import CLIENTS, results

GET = Operation.GET


def test_the_engine_stands_beside_every_peer_under_boto3_on_every_operation() -> None:
    targets = one_client_targets(peers=True)
    lines = one_client_lines(results({name: dict.fromkeys(Operation, 100.0) for name in targets}))
    for operation in Operation:
        engine = [line for line in lines if (line.target, line.what) == ("engine", operation)]
        assert [line.against for line in engine] == ["moto", *BOTO3_PEERS]
        assert {line.required for line in engine} == {"at least 20 x"}
        boto3 = [line for line in lines if (line.target, line.what) == ("boto3", operation)]
        assert [line.against for line in boto3] == ["moto", *BOTO3_PEERS]
        assert [line.required for line in boto3] == ["at least 10 x", *[""] * len(BOTO3_PEERS)]
    assert [line.section for line in lines] == sorted(line.section for line in lines)
    assert {line.section for line in lines} == {IN_PROCESS, UNDER_BOTO3}


def test_other_durabilities_stand_beside_the_quickest_peer() -> None:
    given = {"engine-full": {GET: 500.0}, "moto": {GET: 10.0}, "boto3@dynoxide": {GET: 50.0}}
    (line,) = [line for line in one_client_lines(results(given)) if line.what == GET]
    assert (line.against, line.ratio, line.required) == ("boto3@dynoxide", 10.0, "")


def test_a_peer_that_refuses_an_operation_says_why_and_leaves_the_bound_open() -> None:
    given = {"engine": {GET: 500.0}, "boto3@dynalite": {}}
    (line,) = [line for line in one_client_lines(results(given)) if line.what == GET]
    assert (line.other, line.ratio, line.met, line.reason) == (None, None, None, "boto3@dynalite: refused")


def test_a_peer_that_is_not_there_says_nothing_in_each_line() -> None:
    given = results({"engine": {GET: 500.0}}, missing={"moto": "not installed"})
    (line,) = [line for line in one_client_lines(given) if line.what == GET]
    assert (line.against, line.other, line.reason) == ("moto", None, "")


def test_a_server_stands_beside_each_peer_and_its_variants_beside_their_like() -> None:
    names = http_targets(peers=True)
    given = results({name: dict.fromkeys(Operation, 100.0 + place) for place, name in enumerate(names)}, CLIENTS)
    lines = [line for line in http_lines(given) if line.what == GET]
    assert [line.against for line in lines if line.target == "http"] == list(PEER_NAMES)
    assert [(line.target, line.against) for line in lines if line.target != "http"] == [
        ("http-normal", "dynoxide"),
        ("http-memory", "moto-server"),
    ]
    assert {line.section for line in lines} == {"over HTTP, 8 connections"}


def test_what_was_not_asked_has_no_line() -> None:
    given = results({name: {GET: 100.0} for name in http_targets(peers=True)}, CLIENTS)
    only_gets = Results([row for row in given.rows if row.operation == GET], given.notes, given.missing)
    assert {line.what for line in http_lines(only_gets)} == {GET}


def test_without_peers_servers_have_lines_of_their_own() -> None:
    given = results({name: {GET: 100.0} for name in http_targets(peers=False)}, CLIENTS)
    lines = [line for line in http_lines(given) if line.what == GET]
    assert [(line.target, line.against, line.met) for line in lines] == [
        ("http", "", None),
        ("http-normal", "", None),
        ("http-memory", "", None),
    ]
