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


def test_the_engine_is_compared_with_every_peer_under_boto3_for_every_operation() -> None:
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


def test_other_durability_modes_are_compared_with_the_fastest_peer() -> None:
    members = {"engine-full": {GET: 500.0}, "moto": {GET: 10.0}, "boto3@dynoxide": {GET: 50.0}}
    (line,) = [line for line in one_client_lines(results(members)) if line.what == GET]
    assert (line.against, line.ratio, line.required) == ("boto3@dynoxide", 10.0, "")


def test_a_peer_that_rejects_an_operation_states_a_reason_and_leaves_the_bound_open() -> None:
    members = {"engine": {GET: 500.0}, "boto3@dynalite": {}}
    (line,) = [line for line in one_client_lines(results(members)) if line.what == GET]
    assert (line.other, line.ratio, line.is_within_limit, line.reason) == (None, None, None, "boto3@dynalite: refused")


def test_a_missing_peer_has_no_reason_on_its_lines() -> None:
    measurements = results({"engine": {GET: 500.0}}, missing={"moto": "not installed"})
    (line,) = [line for line in one_client_lines(measurements) if line.what == GET]
    assert (line.against, line.other, line.reason) == ("moto", None, "")


def test_the_server_is_compared_with_each_peer_and_its_variants_with_similar_peers() -> None:
    names = http_targets(peers=True)
    measurements = results({name: dict.fromkeys(Operation, 100.0 + place) for place, name in enumerate(names)}, CLIENTS)
    lines = [line for line in http_lines(measurements) if line.what == GET]
    assert [line.against for line in lines if line.target == "http"] == list(PEER_NAMES)
    assert [(line.target, line.against) for line in lines if line.target != "http"] == [
        ("http-normal", "dynoxide"),
        ("http-memory", "moto-server"),
    ]
    assert {line.section for line in lines} == {"over HTTP, 8 connections"}


def test_operations_that_were_not_measured_have_no_line() -> None:
    measurements = results({name: {GET: 100.0} for name in http_targets(peers=True)}, CLIENTS)
    only_gets = Results(
        [row for row in measurements.rows if row.operation == GET], measurements.notes, measurements.missing
    )
    assert {line.what for line in http_lines(only_gets)} == {GET}


def test_servers_have_separate_lines_without_peers() -> None:
    measurements = results({name: {GET: 100.0} for name in http_targets(peers=False)}, CLIENTS)
    lines = [line for line in http_lines(measurements) if line.what == GET]
    assert [(line.target, line.against, line.is_within_limit) for line in lines] == [
        ("http", "", None),
        ("http-normal", "", None),
        ("http-memory", "", None),
    ]
