"""The people's routes over real HTTP: feed, answers in the order of checks, record, boards, subscriptions, limits."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from tests.systems.ask_a_human.stage import CHOICE, Stage, items
from tests.systems.ask_a_human.test_api_agents import NOON_S, refused
from tests.systems.served_engine import ServedEngine

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.ask_a_human import entities

# Reading.


def test_the_feed_shows_open_and_partial_questions_newest_first_with_missing_answers(
    stage: Stage, clock: ManualClock
) -> None:
    ids = []
    for number in range(6):
        clock.advance(1)
        ids.append(
            stage.create_question(agent=f"agent-{number}", min_responses=2, timeout_seconds=60 if number == 5 else 3600)
        )
    stage.answer(ids[1], "ada")
    for person in ("ada", "ben"):
        stage.answer(ids[2], person)
    first = stage.get("/questions", limit=3).json()
    rest = stage.get("/questions", limit=50, cursor=first["cursor"]).json()
    questions_shown = [*first["questions"], *rest["questions"]]
    assert [question_shown["question_id"] for question_shown in questions_shown] == [
        ids[5],
        ids[4],
        ids[3],
        ids[1],
        ids[0],
    ]
    assert [question_shown["responses_needed"] for question_shown in questions_shown] == [2, 2, 2, 1, 2]
    assert rest["cursor"] is None
    assert "agent_id" not in questions_shown[0]
    clock.advance(60)
    assert ids[5] not in [
        question_shown["question_id"] for question_shown in stage.get("/questions").json()["questions"]
    ]


def test_the_feed_filters_by_audience_and_rejects_values_out_of_range(stage: Stage, clock: ManualClock) -> None:
    ethics = []
    for _ in range(4):
        ethics.append(stage.create_question(audience=["product", "ethics"]))
        clock.advance(1)
        stage.create_question(audience=["technical"])
    first = stage.get("/questions", audience="ethics", limit=3).json()
    rest = stage.get("/questions", audience="ethics", limit=3, cursor=first["cursor"]).json()
    assert [listed["question_id"] for listed in first["questions"] + rest["questions"]] == ethics[::-1]
    assert (len(first["questions"]), rest["cursor"]) == (3, None)
    assert stage.get("/questions", audience="creative").json() == {"questions": [], "cursor": None}
    for query in ({"audience": "all"}, {"limit": 0}, {"limit": 51}, {"cursor": "forged"}):
        assert refused(stage.get("/questions", **query)) == (400, "VALIDATION_ERROR")


def test_a_question_states_whether_this_person_can_answer_it(stage: Stage, clock: ManualClock) -> None:
    question = stage.create_question(**CHOICE, min_responses=2)
    body = stage.get(f"/questions/{question}", "ada").json()
    assert body["can_answer"] is True
    assert body["options"] == CHOICE["options"]
    stage.answer(question, "ada", selected_option=0)
    assert stage.get(f"/questions/{question}", "ada").json()["can_answer"] is False
    assert stage.get(f"/questions/{question}", "ben").json()["can_answer"] is True
    clock.advance(3600)
    late = stage.get(f"/questions/{question}", "ben").json()
    assert (late["can_answer"], late["status"]) == (False, "EXPIRED")
    assert refused(stage.get(f"/questions/{uuid.uuid4()}", "ada")) == (404, "QUESTION_NOT_FOUND")


# Answering.


def test_an_answer_earns_points_badges_and_a_total(stage: Stage, engine: Engine | ServedEngine) -> None:
    question = stage.create_question()
    response = stage.answer(question, "ada", answer="x" * 101, confidence=5, response_time_ms=20_000)
    assert response.status_code == 201
    result = response.json()
    assert result["points_earned"] == result["total_points"] == 10 + 2 + 5 + 5
    assert {badge["id"]: badge["name"] for badge in result["new_badges"]} == {
        "first_steps": "First Steps",
        "early_bird": "Early Bird",
    }
    (stored,) = [item for item in items(engine, entities.responses) if "answer" in item]
    assert stored["response_id"]["S"] == result["response_id"]
    assert uuid.UUID(result["response_id"]).version == 5
    assert stored["fingerprint_hash"]["S"] != "ada"
    assert len(stored["fingerprint_hash"]["S"]) == 64
    assert stored["response_time_ms"] == {"N": "20000"}
    assert stored["ttl"] == {"N": str(NOON_S + 30 * 86_400)}


def test_errors_of_an_answer_are_reported_in_the_documented_order(stage: Stage, clock: ManualClock) -> None:
    bad = {"answer": ""}
    closed, text = stage.create_question(min_responses=1), stage.create_question()
    assert refused(stage.answer(str(uuid.uuid4()), "ada", **bad)) == (404, "QUESTION_NOT_FOUND")
    stage.answer(closed, "ada")
    assert refused(stage.answer(closed, "ada", **bad)) == (410, "QUESTION_CLOSED")
    stage.answer(text, "ada")
    assert refused(stage.answer(text, "ada", **bad)) == (409, "ALREADY_ANSWERED")
    for number in range(3):
        stage.answer(stage.create_question(agent=f"agent-{number}"), "ada")
    fresh = stage.create_question(agent="fresh")
    assert refused(stage.answer(fresh, "ada", **bad)) == (429, "RATE_LIMITED")
    assert refused(stage.answer(text, "ada", **bad)) == (409, "ALREADY_ANSWERED")
    assert refused(stage.answer(closed, "ada", **bad)) == (410, "QUESTION_CLOSED")
    assert refused(stage.answer(str(uuid.uuid4()), "ada", **bad)) == (404, "QUESTION_NOT_FOUND")
    clock.advance(60)
    assert refused(stage.answer(fresh, "ada", **bad)) == (400, "VALIDATION_ERROR")
    assert stage.answer(fresh, "ada").status_code == 201


def test_a_retried_answer_gets_the_first_reply_and_a_different_one_is_rejected(
    stage: Stage, clock: ManualClock
) -> None:
    question, other = stage.create_question(min_responses=2), stage.create_question(agent="other")
    body: dict[str, Any] = {"answer": "fine", "confidence": 5, "response_time_ms": 9_000}
    first = stage.answer(question, "ada", **body)
    assert {badge["id"] for badge in first.json()["new_badges"]} == {"first_steps", "early_bird"}
    clock.advance(1)
    assert stage.answer(other, "ada").json()["total_points"] > first.json()["total_points"]
    again = stage.answer(question, "ada", **body | {"response_time_ms": 11_000})
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "X-RateLimit-Remaining" not in again.headers
    for changed in ({"answer": "no"}, {"confidence": 4}, {"selected_option": 0}, {"answer": ""}, {"more": 1}):
        assert refused(stage.answer(question, "ada", **body | changed)) == (409, "ALREADY_ANSWERED")
    assert stage.poll(question)["current_responses"] == 1
    assert stage.get("/stats", "ada").json()["total_answers"] == 2


def test_a_retry_of_the_answer_that_closed_its_question_gets_its_reply(stage: Stage, clock: ManualClock) -> None:
    question = stage.create_question(**CHOICE, min_responses=1)
    first = stage.answer(question, "ada", selected_option=1)
    clock.advance(3_600)
    again = stage.answer(question, "ada", selected_option=1)
    assert (again.status_code, again.json()) == (201, first.json())
    assert refused(stage.answer(question, "ada", selected_option=0)) == (410, "QUESTION_CLOSED")
    assert refused(stage.answer(question, "ben", selected_option=1)) == (410, "QUESTION_CLOSED")


def test_the_reply_to_an_answer_is_repeated_only_to_its_device(stage: Stage) -> None:
    question = stage.create_question()
    assert stage.answer(question, "ada", answer="fine").status_code == 201
    del stage.tokens["ada"]  # another device with her fingerprint
    assert refused(stage.answer(question, "ada", answer="fine")) == (409, "ALREADY_ANSWERED")


@pytest.mark.parametrize(
    "body",
    [
        {"answer": "x" * 5001},
        {"answer": ""},
        {"answer": "  "},
        {"answer": 5},
        {"selected_option": 0},
        {"answer": "fine", "confidence": "5"},
        {"answer": "fine", "confidence": 2.0},
        {"answer": "fine", "confidence": True},
        {"answer": "fine", "confidence": 6},
        {"answer": "fine", "confidence": 0},
        {"answer": "fine", "response_time_ms": -1},
        {"answer": "fine", "more": 1},
    ],
)
def test_answers_outside_the_ranges_are_rejected_and_not_stored(stage: Stage, body: dict[str, Any]) -> None:
    question = stage.create_question()
    assert refused(stage.answer(question, "ada", **body)) == (400, "VALIDATION_ERROR")
    assert stage.poll(question)["current_responses"] == 0


def test_a_choice_accepts_an_option_in_range_and_no_text(stage: Stage) -> None:
    question = stage.create_question(**CHOICE)
    for body in ({"selected_option": 3}, {"selected_option": -1}, {"answer": "Send"}, {"selected_option": True}):
        assert refused(stage.answer(question, "ada", **body)) == (400, "VALIDATION_ERROR")
    assert stage.answer(question, "ada", selected_option=2).status_code == 201


def test_a_fingerprint_is_required_and_the_zone_must_be_known(stage: Stage) -> None:
    question = stage.create_question()
    bare = stage.client.post("/human/responses", json={"question_id": question, "answer": "fine"})
    assert refused(bare) == (400, "VALIDATION_ERROR")
    assert refused(stage.answer(question, "ada", zone="Mars/Olympus")) == (400, "VALIDATION_ERROR")
    assert refused(stage.answer("not-an-id", "ada")) == (404, "QUESTION_NOT_FOUND")
    no_id = stage.client.post("/human/responses", json={"answer": "fine"}, headers=stage.person("ada"))
    assert refused(no_id) == (400, "VALIDATION_ERROR")


def test_thirty_answers_per_hour_and_five_per_minute_are_allowed(stage: Stage, clock: ManualClock) -> None:
    questions = [stage.create_question(agent=f"agent-{number // 20}", timeout_seconds=86_400) for number in range(32)]
    for number in range(30):
        response = stage.answer(questions[number], "ada", answer=f"the {number}th that I would say")
        assert response.status_code == 201
        assert response.headers["X-RateLimit-Remaining"] == str(29 - number)
        if number % 5 == 4:
            assert refused(stage.answer(questions[31], "ada")) == (429, "RATE_LIMITED")
            clock.advance(60)
    assert refused(stage.answer(questions[31], "ada")) == (429, "RATE_LIMITED")
    assert stage.answer(questions[31], "ben").status_code == 201


def test_a_changed_fingerprint_is_a_new_person(stage: Stage) -> None:
    question = stage.create_question()
    stage.answer(question, "ada")
    assert stage.answer(question, "ada-after-an-update").json()["total_points"] == 15
    assert stage.get("/stats", "ada").json()["total_answers"] == 1


# Comparing.


def test_statistics_show_points_streak_badges_and_categories(stage: Stage, clock: ManualClock) -> None:
    for day in range(3):
        question = stage.create_question(
            audience=["ethics", "product"] if day else ["creative"], timeout_seconds=86_400
        )
        clock.advance(300)
        assert stage.answer(question, "ada", zone="Europe/Berlin", answer=f"day {day}").status_code == 201
        if day < 2:
            clock.advance(86_400 - 300)
    stage.rank()
    stats = stage.get("/stats", "ada").json()
    assert stats["total_points"] == 3 * 15 + 10
    assert (stats["total_answers"], stats["streak_days"], stats["points_today"]) == (3, 3, 25)
    assert stats["answers_by_category"] == {"creative": 1, "ethics": 2}
    assert [badge["id"] for badge in stats["badges"]] == ["first_steps", "on_a_roll"]
    assert stats["badges"][0]["earned_at"] == "2026-02-02T12:05:00Z"
    assert stats["rank"] == 1
    clock.advance(2 * 86_400)
    assert stage.get("/stats", "ada").json()["streak_days"] == 0
    nobody = stage.get("/stats", "nobody").json()
    assert nobody == {
        "total_points": 0,
        "total_answers": 0,
        "points_today": 0,
        "streak_days": 0,
        "badges": [],
        "answers_by_category": {},
        "rank": None,
    }


def test_a_day_earns_500_points_and_answers_beyond_them_still_count(stage: Stage, clock: ManualClock) -> None:
    earned = []
    for _ in range(24):
        clock.advance(13)
        response = stage.answer(stage.create_question(), "ada", answer="x" * 101, confidence=5)
        earned.append(response.json()["points_earned"])
    assert earned == [22] * 22 + [16, 0]
    stats = stage.get("/stats", "ada").json()
    assert (stats["total_points"], stats["points_today"], stats["total_answers"]) == (500, 500, 24)
    clock.advance(86_400)
    assert stage.answer(stage.create_question(), "ada").json()["points_earned"] > 0


def test_boards_rank_by_points_then_by_time_and_show_no_names(stage: Stage, clock: ManualClock) -> None:
    question = stage.create_question(min_responses=50, timeout_seconds=86_400)
    for person, text in (("ada", "short"), ("ben", "x" * 101), ("cleo", "short")):
        clock.advance(1)
        stage.answer(question, person, answer=text)
    stage.rank()
    board = stage.get("/leaderboard", "cleo").json()
    assert board["period"] == "all_time"
    assert board["entries"] == [
        {"rank": 1, "points": 20, "answers": 1, "is_current_user": False},
        {"rank": 2, "points": 15, "answers": 1, "is_current_user": False},
        {"rank": 3, "points": 15, "answers": 1, "is_current_user": True},
    ]
    assert board["you"] == {"rank": 3, "points": 15}
    assert len(stage.get("/leaderboard", limit=2).json()["entries"]) == 2
    assert stage.get("/leaderboard").json()["you"] is None
    assert stage.get("/leaderboard", "nobody").json()["you"] == {"rank": None, "points": 0}
    for query in ({"period": "yearly"}, {"limit": 0}, {"limit": 101}):
        assert refused(stage.get("/leaderboard", **query)) == (400, "VALIDATION_ERROR")


def test_daily_and_weekly_boards_reset_at_midnight_and_on_monday_in_utc(stage: Stage, clock: ManualClock) -> None:
    stage.answer(stage.create_question(), "ada")
    clock.advance(12 * 3600)  # Tuesday
    stage.answer(stage.create_question(), "ben")
    stage.answer(stage.create_question(agent="other"), "ben", answer="again, and something else")
    stage.rank()
    assert [entry["points"] for entry in stage.get("/leaderboard", period="daily").json()["entries"]] == [30]
    assert [entry["points"] for entry in stage.get("/leaderboard", period="weekly").json()["entries"]] == [30, 15]
    assert stage.get("/leaderboard", "ada", period="daily").json()["you"] == {"rank": None, "points": 0}
    clock.advance(6 * 86_400)  # the next Monday
    assert stage.get("/leaderboard", period="weekly").json()["entries"] == []
    assert len(stage.get("/leaderboard").json()["entries"]) == 2


def test_three_hundred_reads_per_hour_are_allowed_by_address_of_the_trusted_proxy(
    stage: Stage, engine: Engine | ServedEngine
) -> None:
    assert stage.get("/questions").headers["X-RateLimit-Remaining"] == "299"
    (counter,) = [item for item in items(engine, entities.responses) if "human_reads#" in item["question_id"]["S"]]
    engine.call("PutItem", {"TableName": "aah-responses", "Item": {**counter, "requests": {"N": "300"}}})
    for path in ("/questions", f"/questions/{uuid.uuid4()}", "/stats", "/leaderboard"):
        assert refused(stage.get(path, "ada")) == (429, "RATE_LIMITED")
    assert refused(stage.get("/questions", address="10.9.9.9, 10.0.0.1")) == (429, "RATE_LIMITED")
    assert stage.get("/questions", address="10.0.0.2").status_code == 200


# Unreadable items.


@pytest.mark.parametrize(
    ("attribute", "value"), [("prompt", {"N": "1"}), ("closed_at", {"S": "2025-13-01T00:00:00.000Z"})]
)
def test_an_unreadable_question_is_omitted_from_lists_and_logged(
    stage: Stage, clock: ManualClock, caplog: pytest.LogCaptureFixture, attribute: str, value: dict[str, str]
) -> None:
    question_ids = []
    for _ in range(3):
        question_ids.append(stage.create_question(audience=["product"]))
        clock.advance(1)
    spoil(stage, entities.questions, {"question_id": {"S": question_ids[1]}}, attribute, value)
    lists = (stage.get("/questions"), stage.get("/questions", audience="product"))
    for response in (*lists, stage.client.get("/agent/questions", headers=stage.agent())):
        assert [listed["question_id"] for listed in response.json()["questions"]] == [question_ids[2], question_ids[0]]
    left_out = [record for record in caplog.records if "cannot read" in record.message]
    assert [record.exc_info is not None for record in left_out] == [True] * 3


def test_an_unreadable_row_is_omitted_from_the_board_and_logged(
    stage: Stage, engine: Engine | ServedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    question = stage.create_question(min_responses=3)
    for person in ("ada", "ben", "cleo"):
        stage.answer(question, person)
    row = next(item for item in items(engine, entities.user_stats) if "place" in item and "ALL_TIME" in str(item))
    key = {name: row[name] for name in entities.user_stats.schema.key}
    spoil(stage, entities.user_stats, key, "total_answers", {"S": "many"})
    assert len(stage.get("/leaderboard").json()["entries"]) == 2
    assert len([warning for warning in caplog.records if "cannot read" in warning.message]) == 1
    boards = {person: stage.get("/leaderboard", person).json() for person in ("ada", "ben", "cleo")}
    assert [len(board["entries"]) for board in boards.values()] == [2] * 3
    (whose,) = [person for person, board in boards.items() if board["you"] is None]
    record = stage.get("/stats", whose).json()
    assert (record["rank"], record["total_answers"]) == (None, 1)


def test_an_unreadable_response_is_omitted_from_its_questions_poll_and_logged(
    stage: Stage, engine: Engine | ServedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    question = stage.create_question(min_responses=3)
    for person in ("ada", "ben"):
        stage.answer(question, person)
    row = next(item for item in items(engine, entities.responses) if "answer" in item)
    key = {name: row[name] for name in entities.responses.schema.key}
    spoil(stage, entities.responses, key, "confidence", {"S": "sure"})
    polled = stage.client.get(f"/agent/questions/{question}", headers=stage.agent()).json()
    assert (polled["current_responses"], len(polled["responses"])) == (2, 1)
    assert len([record for record in caplog.records if "cannot read" in record.message]) == 1


def spoil(stage: Stage, table: Any, key: dict[str, Any], attribute: str, value: dict[str, Any]) -> None:
    """Change an item as another program could: with a value that is invalid for its entity."""
    result = {"UpdateExpression": "SET #a = :a", "ExpressionAttributeNames": {"#a": attribute}}
    values = {"ExpressionAttributeValues": {":a": value}}
    stage.connection._call("UpdateItem", {"TableName": table.name, "Key": key, **result, **values})


# Push subscriptions.


def test_a_subscription_is_created_refreshed_and_disabled(stage: Stage, engine: Engine | ServedEngine) -> None:
    response = stage.subscribe("token", "ada")
    assert response.status_code == 201
    result, ada = response.json(), stage.person("ada")
    assert (result["min_interval_minutes"], result["active"]) == (30, True)
    path = f"/human/push/subscribe/{result['subscription_id']}"
    changed = stage.client.put(path, headers=ada, json={"fcm_token": "refreshed", "min_interval_minutes": 5})
    assert changed.json() == {**result, "min_interval_minutes": 5}
    assert (
        stage.subscribe("refreshed", "ada", min_interval_minutes=60).json()["subscription_id"]
        == result["subscription_id"]
    )
    assert stage.client.delete(path, headers=ada).status_code == 204
    assert stage.client.delete(path, headers=ada).status_code == 204
    (stored,) = [item for item in items(engine, entities.subscriptions) if "fcm_token" in item]
    assert stored["active"] == {"BOOL": False}
    assert "notify_pk" not in stored
    assert stored["next_eligible_at"]["S"] == stored["created_at"]["S"]
    assert stage.client.put(path, headers=ada, json={"min_interval_minutes": 10}).json()["active"] is False
    assert stage.subscribe("refreshed", "ada").json()["active"] is True


def test_missing_subscriptions_and_values_out_of_range_are_rejected(stage: Stage) -> None:
    path, ada = f"/human/push/subscribe/{uuid.uuid4()}", stage.person("ada")
    assert refused(stage.client.put(path, headers=ada, json={"min_interval_minutes": 5})) == (
        404,
        "SUBSCRIPTION_NOT_FOUND",
    )
    assert refused(stage.client.delete(path, headers=ada)) == (404, "SUBSCRIPTION_NOT_FOUND")
    for minutes in (4, 1441):
        assert refused(stage.subscribe("token", "ada", min_interval_minutes=minutes)) == (400, "VALIDATION_ERROR")
    assert refused(stage.client.put(path, headers=ada, json={})) == (400, "VALIDATION_ERROR")
    first, second = (stage.subscribe(token, "ada").json()["subscription_id"] for token in ("one", "two"))
    response = stage.client.put(f"/human/push/subscribe/{second}", headers=ada, json={"fcm_token": "one"})
    assert refused(response) == (400, "VALIDATION_ERROR")
    assert first != second


def test_an_address_may_subscribe_ten_times_per_hour(stage: Stage) -> None:
    for number in range(10):
        assert stage.subscribe(f"token-{number}", "ada", address="10.0.0.1").status_code == 201
    assert refused(stage.subscribe("token-10", "ada", address="10.0.0.1")) == (429, "RATE_LIMITED")
    assert stage.subscribe("token-10", "ada", address="10.0.0.2").status_code == 201


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("total_points", {"S": "many"}), ("answers_by_category", {"M": {"gardening": {"N": "1"}}})],
    ids=["no item of its kind", "values that the rules do not know"],
)
def test_an_unreadable_record_is_reported_to_its_person_and_affects_no_one_else(
    stage: Stage, engine: Engine | ServedEngine, attribute: str, value: dict[str, Any]
) -> None:
    first, second = stage.create_question(min_responses=5), stage.create_question(min_responses=5)
    assert stage.answer(first, "ada").status_code == 201
    item_stored = next(item for item in items(engine, entities.user_stats) if "daily_points" in item)
    spoil(stage, entities.user_stats, {"fingerprint_hash": item_stored["fingerprint_hash"]}, attribute, value)
    for response in (stage.get("/stats", "ada"), stage.answer(second, "ada")):
        assert refused(response) == (500, "SERVER_ERROR")
        error = response.json()["error"]
        assert error["message"].startswith("A stored UserStats item cannot be read")
        assert error["details"] == {
            "entity": "UserStats",
            "key": {"fingerprint_hash": item_stored["fingerprint_hash"]["S"]},
        }
    assert stage.answer(second, "ben").status_code == 201
    assert stage.get("/stats", "ben").json()["total_answers"] == 1
    assert len(stage.get("/leaderboard", "ben").json()["entries"]) == 2
