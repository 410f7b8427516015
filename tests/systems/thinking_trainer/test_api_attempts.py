"""Attempts over HTTP: begun, saved, resumed, submitted, abandoned, listed, with every refusal."""

from __future__ import annotations

from typing import Any

import pytest
from tests.systems.thinking_trainer.builders import attempt_id
from tests.systems.thinking_trainer.stage import ANSWERS, FERRY, Caller, Stage, answer_list

from keyplan.clock import ManualClock
from keyplan_systems.thinking_trainer.domain.attempts import MAX_ANSWER_CHARACTERS
from keyplan_systems.thinking_trainer.domain.errors import EvaluationRefused, EvaluationUnavailable


def test_an_attempt_submitted_directly_is_returned_graded(ada: Caller) -> None:
    attempt = ada.submit_attempt()
    assert attempt["status"] == "completed"
    assert len(attempt["evaluation"]["dimensions"]) == 8
    assert [answer["questionId"] for answer in attempt["answers"]] == ["q1", "q2"]
    assert attempt["answers"][0]["wordCount"] == len(ANSWERS["q1"].split())
    assert attempt["schemaVersion"] == "1.0"
    assert ada.get(f"/attempts/{attempt['attemptId']}").json() == attempt


def test_a_draft_is_saved_resumed_and_submitted_with_the_saved_answers(ada: Caller, clock: ManualClock) -> None:
    draft = ada.start_draft()
    clock.advance(60)
    saved = ada.put(f"/attempts/{draft}/answers", {"answers": answer_list({"q1": ANSWERS["q1"]})}).json()
    assert (saved["status"], saved["touchedAt"]) == ("in-progress", "2026-03-01T12:01:00.000Z")
    clock.advance(60)
    assert ada.post(f"/attempts/{draft}/resume").json()["touchedAt"] == "2026-03-01T12:02:00.000Z"
    assert [attempt["attemptId"] for attempt in ada.get("/attempts/drafts").json()["items"]] == [draft]
    assert ada.get("/attempts").json()["items"] == []
    clock.advance(60)
    submitted = ada.post(f"/attempts/{draft}/submit", {"answers": answer_list({"q2": ANSWERS["q2"]})}).json()
    assert (submitted["status"], submitted["durationSeconds"]) == ("completed", 180)
    assert [answer["answer"] for answer in submitted["answers"]] == list(ANSWERS.values())
    assert ada.get("/attempts/drafts").json()["items"] == []
    assert [attempt["attemptId"] for attempt in ada.get("/attempts").json()["items"]] == [draft]


def test_submitted_answers_replace_saved_ones(ada: Caller) -> None:
    draft = ada.start_draft()
    first = {name: f"{text} That was my first thought." for name, text in ANSWERS.items()}
    assert ada.put(f"/attempts/{draft}/answers", {"answers": answer_list(first)}).status_code == 200
    submitted = ada.post(f"/attempts/{draft}/submit", {"answers": answer_list({"q1": ANSWERS["q1"]})}).json()
    assert [answer["answer"] for answer in submitted["answers"]] == [ANSWERS["q1"], first["q2"]]


def test_an_abandoned_attempt_keeps_its_answers_and_is_not_listed(ada: Caller) -> None:
    draft = ada.start_draft()
    ada.put(f"/attempts/{draft}/answers", {"answers": answer_list()})
    left = ada.post(f"/attempts/{draft}/abandon").json()
    assert (left["status"], len(left["answers"])) == ("abandoned", 2)
    assert ada.get("/attempts").json()["items"] == ada.get("/attempts/drafts").json()["items"] == []


@pytest.mark.parametrize("closing", ["submit", "abandon"])
def test_a_closed_attempt_rejects_every_further_step_with_409(ada: Caller, closing: str) -> None:
    draft = ada.start_draft()
    body = {"answers": answer_list()} if closing == "submit" else None
    assert ada.post(f"/attempts/{draft}/{closing}", body).status_code == 200
    answers = {"answers": answer_list()}
    for response, verb in (
        (ada.put(f"/attempts/{draft}/answers", answers), "saved"),
        (ada.post(f"/attempts/{draft}/resume"), "resumed"),
        (ada.post(f"/attempts/{draft}/submit", answers), "submitted"),
        (ada.post(f"/attempts/{draft}/abandon"), "abandoned"),
    ):
        assert response.status_code == 409
        assert response.json()["error"]["message"].endswith(f"only an attempt in progress can be {verb}")


def test_another_users_attempt_returns_403_and_a_missing_one_404(stage: Stage, ada: Caller) -> None:
    bob, draft, nobody = stage.person("bob"), ada.start_draft(), attempt_id(404)
    answers = {"answers": answer_list()}
    for attempt, status in ((draft, 403), (nobody, 404)):
        assert bob.get(f"/attempts/{attempt}").status_code == status
        assert bob.put(f"/attempts/{attempt}/answers", answers).status_code == status
        assert bob.post(f"/attempts/{attempt}/resume").status_code == status
        assert bob.post(f"/attempts/{attempt}/submit", answers).status_code == status
        assert bob.post(f"/attempts/{attempt}/abandon").status_code == status
    assert ada.get(f"/attempts/{draft}").json()["status"] == "in-progress"
    assert bob.get("/attempts/drafts").json()["items"] == []


def test_a_ledger_cannot_be_read_as_an_attempt(stage: Stage, ada: Caller) -> None:
    ada.submit_attempt()
    assert stage.follow() == 1
    assert ada.get("/attempts/LEDGER%23ada").status_code == 404


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        ({"q1": ANSWERS["q1"]}, "question q2 is not answered"),
        ({**ANSWERS, "q2": "   short  "}, "the answer to q2 has 5 characters; the minimum is 10"),
        ({**ANSWERS, "q9": ANSWERS["q1"]}, "scenario late-ferry has no question 'q9'"),
        ({**ANSWERS, "q2": "x" * (MAX_ANSWER_CHARACTERS + 1)}, "10001 characters; the maximum is 10000"),
    ],
)
def test_invalid_answers_return_400_and_nothing_is_stored(ada: Caller, texts: dict[str, str], complaint: str) -> None:
    response = ada.post("/attempts", {"scenarioId": FERRY, "answers": answer_list(texts)})
    assert response.status_code == 400
    assert complaint in response.text
    assert ada.get("/attempts").json()["items"] == []


def test_the_longest_possible_answers_are_accepted(ada: Caller) -> None:
    attempt = ada.submit_attempt(dict.fromkeys(ANSWERS, "y" * MAX_ANSWER_CHARACTERS))
    assert ada.get(f"/attempts/{attempt['attemptId']}").json()["answers"][0]["answer"] == "y" * MAX_ANSWER_CHARACTERS


@pytest.mark.embedded("refused before any table is met")
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"scenarioId": ""},
        {"scenarioId": FERRY, "answers": "none"},
        {"scenarioId": FERRY, "answers": [{"questionId": "q1"}]},
        {"scenarioId": FERRY, "answers": answer_list() * 2},
        {"scenarioId": FERRY, "answers": answer_list({f"q{number}": ANSWERS["q1"] for number in range(11)})},
        {"scenarioId": FERRY, "answers": answer_list(), "evaluation": {"overallScore": 100}},
    ],
)
def test_a_body_of_another_form_returns_400(ada: Caller, body: dict[str, Any]) -> None:
    assert ada.post("/attempts", body).status_code == 400


def test_unknown_and_inactive_scenarios_return_404(stage: Stage, ada: Caller) -> None:
    body = {"scenarioId": "nowhere", "answers": answer_list()}
    assert ada.post("/attempts", body).status_code == 404
    assert ada.post("/attempts/drafts", {"scenarioId": "nowhere"}).status_code == 404
    stage.service.set_active(FERRY, active=False)
    assert ada.post("/attempts", {**body, "scenarioId": FERRY}).status_code == 404
    assert ada.post("/attempts/drafts", {"scenarioId": FERRY}).status_code == 404


def test_a_started_attempt_can_be_submitted_after_its_scenario_was_deactivated(stage: Stage, ada: Caller) -> None:
    draft = ada.start_draft()
    stage.service.set_active(FERRY, active=False)
    assert ada.post(f"/attempts/{draft}/submit", {"answers": answer_list()}).status_code == 200


def test_pages_are_newest_first_without_gaps_or_duplicates(ada: Caller, stage: Stage, clock: ManualClock) -> None:
    entries = []
    for _ in range(7):
        clock.advance(1)
        entries.append(ada.submit_attempt()["attemptId"])
        ada.start_draft()
    stage.person("bob").submit_attempt()
    attempt_ids: list[str] = []
    token: str | None = None
    sizes = []
    while True:
        page = ada.get("/attempts", limit=3, **({"nextToken": token} if token else {})).json()
        sizes.append(len(page["items"]))
        attempt_ids += [attempt["attemptId"] for attempt in page["items"]]
        token = page["nextToken"]
        if token is None:
            break
    assert attempt_ids == entries[::-1]
    assert sizes[:2] == [3, 3]


def test_a_page_contains_twenty_attempts_by_default(ada: Caller) -> None:
    for _ in range(21):
        ada.submit_attempt()
    page = ada.get("/attempts").json()
    assert len(page["items"]) == 20
    assert len(ada.get("/attempts", nextToken=page["nextToken"]).json()["items"]) == 1


def test_drafts_are_listed_last_touched_first_in_pages(ada: Caller, clock: ManualClock) -> None:
    attempts = []
    for _ in range(3):
        attempts.append(ada.start_draft())
        clock.advance(1)
    ada.post(f"/attempts/{attempts[0]}/resume")
    first = ada.get("/attempts/drafts", limit=2).json()
    rest = ada.get("/attempts/drafts", limit=2, nextToken=first["nextToken"]).json()
    assert [attempt["attemptId"] for attempt in first["items"] + rest["items"]] == [
        attempts[0],
        attempts[2],
        attempts[1],
    ]
    assert rest["nextToken"] is None
    for wrong in ({"limit": 101}, {"nextToken": "bm9uc2Vuc2U"}):
        assert ada.get("/attempts/drafts", **wrong).status_code == 400


def test_tokens_of_others_and_invalid_ones_return_400_and_limits_apply(stage: Stage, ada: Caller) -> None:
    bob = stage.person("bob")
    for _ in range(3):
        bob.submit_attempt()
    token = bob.get("/attempts", limit=1).json()["nextToken"]
    assert bob.get("/attempts", limit=1, nextToken=token).status_code == 200
    assert ada.get("/attempts", limit=1, nextToken=token).status_code == 400
    assert bob.get("/attempts", nextToken="bm9uc2Vuc2U").status_code == 400
    assert bob.get("/attempts", nextToken=token[:-3] + "abc").status_code == 400
    assert [bob.get("/attempts", limit=limit).status_code for limit in (0, 101, 1, 100)] == [400, 400, 200, 200]


def test_requests_without_a_token_and_with_a_long_subject_are_rejected(stage: Stage, ada: Caller) -> None:
    for path in ("/attempts", "/attempts/drafts", "/scenarios", f"/scenarios/{FERRY}", "/users/ada/profile"):
        assert ada.client.get(path, headers={"Authorization": ""}).status_code == 401
    assert stage.person("u" * 128).get("/attempts").status_code == 200
    assert stage.person("u" * 129).get("/attempts").status_code == 403


@pytest.mark.parametrize("is_draft", [True, False])
def test_an_attempt_is_dated_by_its_submission_and_not_by_the_end_of_grading(
    stage: Stage, ada: Caller, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, is_draft: bool
) -> None:
    kind, grading_s = type(stage.service.evaluator), 90
    grade = kind.evaluate

    def slowly(*args: Any) -> Any:
        clock.advance(grading_s)
        return grade(*args)

    monkeypatch.setattr(kind, "evaluate", slowly)
    path = f"/attempts/{ada.start_draft()}/submit" if is_draft else "/attempts"
    clock.advance(60)
    body = {"answers": answer_list()} if is_draft else {"scenarioId": FERRY, "answers": answer_list()}
    submitted = ada.post(path, body).json()
    assert (submitted["timestamp"], submitted["touchedAt"]) == ("2026-03-01T12:01:00.000Z",) * 2
    assert submitted["evaluation"]["evaluatedAt"] == "2026-03-01T12:02:30.000Z"
    assert submitted["durationSeconds"] == (60 if is_draft else 0)


@pytest.mark.parametrize(
    ("error", "status"), [(EvaluationRefused("no access"), 502), (EvaluationUnavailable("three tries"), 503)]
)
def test_without_an_evaluation_an_attempt_stays_in_progress(
    stage: Stage, ada: Caller, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def fail(*_: Any) -> Any:
        raise error

    draft, submitted = ada.start_draft(), ada.submit_attempt()["attemptId"]
    monkeypatch.setattr(type(stage.service.evaluator), "evaluate", fail)
    for response in (
        ada.post(f"/attempts/{draft}/submit", {"answers": answer_list()}),
        ada.post("/attempts", {"scenarioId": FERRY, "answers": answer_list()}),
    ):
        assert (response.status_code, response.json()["error"]["message"]) == (status, str(error))
        assert response.headers.get("Retry-After") == ("30" if status == 503 else None)
    assert ada.get(f"/attempts/{draft}").json()["status"] == "in-progress"
    assert [attempt["attemptId"] for attempt in ada.get("/attempts").json()["items"]] == [submitted]
    again = ada.post(f"/attempts/{submitted}/submit", {"answers": answer_list()})
    assert again.status_code == 409, "what is closed is not graded again"


def test_every_kind_of_character_is_stored_unchanged(ada: Caller) -> None:
    result = "Ursache → Wirkung? Größe ≠ Güte; 因果関係ではない 🌊 e\u0301"
    attempt = ada.submit_attempt({**ANSWERS, "q1": result})
    assert ada.get(f"/attempts/{attempt['attemptId']}").json()["answers"][0]["answer"] == result
    broken = '{"scenarioId": "late-ferry", "answers": [{"questionId": "q1", "answer": "half \\ud83c a letter"}]}'
    assert ada.client.post("/attempts", content=broken).status_code == 400
