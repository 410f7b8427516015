"""Authentication, limits of queries, and the error format."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import get_introspection_query
from tests.systems.venue_booking.stage import Caller, Refused, Stage, code_of
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from keyplan.client.errors import OutcomeUnknownError, ThrottledError, UnavailableError
from keyplan.clock import ManualClock
from keyplan_systems.web.development import issue_development_token


@pytest.mark.embedded("refused before any table is met")
def test_requests_without_a_token_are_rejected(stage: Stage) -> None:
    response = stage.client().post("/graphql", json={"query": "{ me { id } }"})
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert response.json()["error"]["code"] == "unauthorized"


@pytest.mark.parametrize("wrong", ["audience", "issuer", "expired", "signature"])
@pytest.mark.embedded("refused before any table is met")
def test_an_invalid_token_is_rejected(wrong: str, stage: Stage, clock: ManualClock) -> None:
    result: dict[str, Any] = {"audience": "venue", "issuer": "keyplan-development"}
    claims = {"exp": int(clock.now()) - 3_600} if wrong == "expired" else {}
    if wrong in result:
        result[wrong] = "another"
    token = issue_development_token(stage.key, "ada", clock=clock, claims=claims, **result)
    if wrong == "signature":
        token = token[:-6] + ("AAAAAA" if not token.endswith("AAAAAA") else "BBBBBB")
    response = stage.client(token).post("/graphql", json={"query": "{ me { id } }"})
    assert response.status_code == 401


ADMIN_ONLY = [
    "{ bookings { cursor } }",
    '{ bookingsByMonth(month: "2025-11") { cursor } }',
    "{ users { cursor } }",
    '{ userByEmail(email: "ada@example.org") { id } }',
    '{ audit(month: "2025-11") { cursor } }',
    '{ auditOf(subject: "x") { cursor } }',
    'mutation { createEvent(input: {date: "2025-12-01", duration: "EVENING", kind: CLOSURE, title: "x"}) { id } }',
    'mutation { deleteEvent(id: "x") { id } }',
    'mutation { recordPayment(input: {bookingId: "x", amountCents: 1, method: CASH}) { id } }',
    'mutation { issueLockCode(eventId: "x") { digits } }',
]


@pytest.mark.parametrize("query", ADMIN_ONLY)
@pytest.mark.embedded("refused before any table is met")
def test_administrator_queries_are_rejected_for_users(query: str, ada: Caller) -> None:
    assert code_of(ada, query) == "forbidden"


def test_cognito_groups_determine_administrators_and_the_stored_role_does_not(stage: Stage) -> None:
    eve = stage.person("eve", **{"cognito:groups": ["administrators"]})
    assert eve.ask("{ me { role } bookings { cursor } }")["me"] == {"role": "ADMIN"}
    again = stage.person("eve")
    assert again.ask("{ me { role } }")["me"] == {"role": "ADMIN"}
    assert code_of(again, "{ bookings { cursor } }") == "forbidden"


def nested(levels: int) -> str:
    """Return a query that descends from an event to its booking and back."""
    inside = "id"
    for number in range(levels):
        inside = ("event" if number % 2 else "booking") + " { " + inside + " }"
    return f'{{ booking(id: "x") {{ event {{ {inside} }} }} }}'


def test_a_query_that_is_nested_too_deeply_is_rejected_before_anything_is_read(stage: Stage, ada: Caller) -> None:
    assert code_of(ada, nested(5)) == "not_found"
    assert code_of(ada, nested(7)) == "too_deep"


def test_a_query_above_the_complexity_limit_is_rejected(ada: Caller, admin: Caller) -> None:
    fields = "id code date duration description attendees user { id email name stats { total } } event { id title }"
    assert admin.ask(f"{{ bookings(first: 100) {{ entries {{ {fields} }} }} }}") == {"bookings": {"entries": []}}
    many = " ".join(f"a{number}: bookings(first: 100) {{ entries {{ {fields} }} }}" for number in range(6))
    assert code_of(admin, f"{{ {many} }}") == "too_complex"
    variable = f"query ($n: Int!) {{ {many.replace('100', '$n')} }}"
    assert code_of(admin, variable, n=100) == "too_complex"
    assert set(admin.ask(variable, n=5)) == {f"a{number}" for number in range(6)}


@pytest.mark.embedded("refused before any table is met")
def test_exponential_fragments_are_counted_without_expanding_them(admin: Caller) -> None:
    count = 40
    parts = [f"fragment f{number} on Query {{ ...f{number + 1} ...f{number + 1} }}" for number in range(count)]
    query = "{ ...f0 } " + " ".join(parts) + f" fragment f{count} on Query {{ me {{ id }} }}"
    assert code_of(admin, query) == "too_complex"


@pytest.mark.embedded("no table is met")
def test_introspection_is_allowed_once_per_query(ada: Caller) -> None:
    introspection = get_introspection_query(
        schema_description=True, specified_by_url=True, directive_is_repeatable=True, input_value_deprecation=True
    )
    assert ada.ask(introspection)["__schema"]["queryType"]["name"] == "Query"
    assert ada.ask('{ __type(name: "Booking") { name fields { name type { name ofType { name } } } } }')["__type"]
    text = " ".join(f"a{number}: __schema {{ types {{ ...kind }} }}" for number in range(8))
    kind = " ".join(f"b{number}: fields {{ type {{ ofType {{ ...inside }} }} }}" for number in range(8))
    inside = " ".join(f"c{number}: fields {{ name }}" for number in range(8))
    query = f"{{ {text} }} fragment kind on __Type {{ {kind} }} fragment inside on __Type {{ {inside} }}"
    assert code_of(ada, query) == "too_complex"


@pytest.mark.embedded("refused before any table is met")
@pytest.mark.parametrize(
    ("query", "variables"),
    [
        ("query ($n: Int) { myBookings(first: $n) { cursor } }", {"n": None}),
        ("query ($n: Int = 5) { myBookings(first: $n) { cursor } }", {"n": None}),
        (f"{{ myBookings(first: {'9' * 5_000}) {{ cursor }} }}", {}),
        ("{ myBookings(first: null) { cursor } }", {}),
    ],
    ids=["variable that is null", "null in place of its default", "number of many digits", "null"],
)
def test_an_invalid_number_is_a_bad_query(query: str, variables: dict[str, Any], ada: Caller) -> None:
    assert code_of(ada, query, **variables) == "bad_query"


@pytest.mark.embedded("refused before any table is met")
def test_a_query_with_too_many_tokens_is_rejected_before_parsing(admin: Caller) -> None:
    assert admin.ask("{ " + "me { id } " * 240 + "}")["me"]
    assert code_of(admin, "{ " + "me { id } " * 250 + "}") == "bad_query"


@pytest.mark.embedded("refused before any table is met")
def test_an_oversized_body_is_rejected(stage: Stage, ada: Caller) -> None:
    assert ada.client.post("/graphql", json={"query": "#" * 70_000}).status_code == 413


@pytest.mark.embedded("refused before any table is met")
def test_queries_by_get_are_rejected(ada: Caller) -> None:
    response = ada.client.get("/graphql", params={"query": "{ me { id } }"})
    assert (response.status_code, response.json()["error"]["code"]) == (400, "bad_request")


@pytest.mark.embedded("no booking is met")
def test_only_the_named_one_of_several_operations_runs(ada: Caller) -> None:
    two = 'query one { me { id } } mutation two { changeProfile(input: {name: "Two"}) { name } }'
    assert code_of(ada, two) == "bad_query"
    response = ada.client.post("/graphql", json={"query": two, "operationName": "two"}).json()
    assert response == {"data": {"changeProfile": {"name": "Two"}}}
    assert ada.ask("query one { me { name } }") == {"me": {"name": "Two"}}


NO_REQUESTS = {
    "empty": (b"", "malformed"),
    "broken": (b"{", "malformed"),
    "bytes": (b"\xff\xfe", "malformed"),
    "half a surrogate pair": (b'{"query": "{ me { id } }", "operationName": "\\ud800"}', "malformed"),
    "deep": (b"[" * 60_000, "malformed"),
    "null": (b"null", "bad_request"),
    "number": (b"1", "bad_request"),
    "batch": (b'[{"query": "{ me { id } }"}]', "bad_request"),
    "no query": (b"{}", "bad_request"),
    "query is a number": (b'{"query": 1}', "bad_request"),
    "variables are a list": (b'{"query": "{ me { id } }", "variables": []}', "bad_request"),
    "operation is a number": (b'{"query": "{ me { id } }", "operationName": 5}', "bad_request"),
    "operation is unknown": (b'{"query": "{ me { id } }", "operationName": "x"}', "bad_request"),
}


@pytest.mark.parametrize(("body", "code"), NO_REQUESTS.values(), ids=NO_REQUESTS)
@pytest.mark.embedded("refused before any table is met")
def test_an_invalid_graphql_request_is_reported_in_the_common_error_format(body: bytes, code: str, ada: Caller) -> None:
    response = ada.client.post("/graphql", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["code"], error["request_id"]) == (code, response.headers["X-Request-Id"])


@pytest.mark.embedded("refused before any table is met")
def test_graphql_accepts_json_only(ada: Caller) -> None:
    for kind in ("text/plain", "application/graphql", "multipart/form-data; boundary=x"):
        response = ada.client.post("/graphql", content=b'{"query": "{ me { id } }"}', headers={"Content-Type": kind})
        assert (response.status_code, response.json()["error"]["code"]) == (400, "bad_request"), kind


@pytest.mark.embedded("refused before any table is met")
def test_websockets_are_rejected(stage: Stage) -> None:
    address = stage.url.replace("http://", "ws://") + "/graphql"
    with pytest.raises(InvalidStatus) as refused, connect(address, open_timeout=60):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.embedded("refused before any table is met")
def test_a_query_error_is_reported_without_suggestions(ada: Caller) -> None:
    with pytest.raises(Refused) as refused:
        ada.ask("{ me { idd } }")
    assert refused.value.code == "bad_query"
    assert "Did you mean" not in str(refused.value)


@pytest.mark.embedded("no request is sent")
def test_an_unexpected_error_is_returned_without_details(
    stage: Stage, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("secret of the house")

    with monkeypatch.context() as patch:
        patch.setattr(stage.connection, "run", fail)
        with pytest.raises(Refused) as refused:
            ada.ask("{ me { id } }")
    assert refused.value.code == "server_error"
    assert "secret" not in str(refused.value.errors)
    assert refused.value.errors[0]["extensions"]["request_id"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnavailableError("no answer"), "unavailable"),
        (ThrottledError("too much"), "unavailable"),
        (OutcomeUnknownError("no answer"), "outcome_unknown"),
    ],
    ids=lambda rule: type(rule).__name__,
)
@pytest.mark.embedded("no request is sent")
def test_an_unavailable_table_is_reported(
    error: Exception, code: str, stage: Stage, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(stage.connection, "run", fail)
        assert code_of(ada, "{ me { id } }") == code


def test_health_schema_and_description_require_no_token(stage: Stage) -> None:
    client = stage.client()
    assert client.get("/health").json() == {"status": "ok", "checks": {"table": "ok"}}
    assert (
        "requestBooking(input: BookingInput!, idempotencyKey: String = null): Booking!"
        in client.get("/schema.graphql").text
    )
    paths = client.get("/openapi.json").json()["paths"]
    assert "/calendar.ics" in paths
    described = paths["/graphql"]["post"]["requestBody"]["content"]["application/json"]
    token = stage.token("ada")
    assert stage.client(token).post("/graphql", json=described["example"]).json()["data"]["availability"]


ODD = ["", "a#b", "x" * 300, "é", "a\u0000b", "../x", "BOOKING#1"]
BY_ID = {
    "booking": "query ($id: ID!) { booking(id: $id) { id } }",
    "approve": "mutation ($id: ID!) { approveBooking(id: $id) { id } }",
    "payments": "query ($id: ID!) { payments(bookingId: $id) { cursor } }",
    "payment": "mutation ($id: ID!) { recordPayment(input: {bookingId: $id, amountCents: 1, method: CASH}) { id } }",
    "lock code": "query ($id: ID!) { lockCode(eventId: $id) { digits } }",
    "issue": "mutation ($id: ID!) { issueLockCode(eventId: $id) { digits } }",
    "event": "mutation ($id: ID!) { deleteEvent(id: $id) { id } }",
    "audit": "query ($id: ID!) { auditOf(subject: $id) { cursor } }",
}


@pytest.mark.parametrize("query", BY_ID.values(), ids=BY_ID)
def test_invalid_ids_are_not_found(query: str, admin: Caller) -> None:
    for odd in ODD:
        assert code_of(admin, query, id=odd) in {"not_found", "invalid"}, odd


MONTHS = ["bookingsByMonth(month: $m) { cursor }", "audit(month: $m) { cursor }"]


@pytest.mark.parametrize("selected", MONTHS)
@pytest.mark.parametrize("month", ["0000-01", "2025-13", "2025-1", "20251", "", "2025-11-01", "abcd-ef"])
@pytest.mark.embedded("refused before any table is met")
def test_an_invalid_month_is_rejected(selected: str, month: str, admin: Caller) -> None:
    assert code_of(admin, f"query ($m: String!) {{ {selected} }}", m=month) == "invalid"


@pytest.mark.parametrize("month", ["0001-01", "9999-12"])
def test_the_first_and_the_last_possible_month_are_valid(month: str, admin: Caller) -> None:
    for selected in MONTHS:
        assert admin.ask(f"query ($m: String!) {{ {selected} }}", m=month)
    query = "query ($a: Date!, $b: Date!) { availability(firstDate: $a, lastDate: $b) { bookable } }"
    days = admin.ask(query, a=f"{month}-01", b=f"{month}-31")["availability"]
    assert len(days) == 31
    assert not any(day["bookable"] for day in days)


@pytest.mark.parametrize("first", [0, -1, 101, 2**31 - 1])
@pytest.mark.embedded("refused before any table is met")
def test_pages_have_bounds(first: int, admin: Caller) -> None:
    assert code_of(admin, "query ($n: Int!) { bookings(first: $n) { cursor } }", n=first) == "invalid"
