"""A whole session: API, consumer and sweeper together."""

from __future__ import annotations

from tests.systems.thinking_trainer.stage import ANSWERS, FERRY, Caller, Stage, answer_list

from keyplan.clock import ManualClock


def test_a_whole_session_works(stage: Stage, ada: Caller, clock: ManualClock) -> None:
    draft = ada.start_draft()
    assert ada.put(f"/attempts/{draft}/answers", {"answers": answer_list({"q1": ANSWERS["q1"]})}).status_code == 200
    clock.advance(5)
    assert ada.post(f"/attempts/{draft}/submit", {"answers": answer_list({"q2": ANSWERS["q2"]})}).status_code == 200
    assert ada.post(f"/attempts/{draft}/submit", {"answers": answer_list()}).status_code == 409
    for _ in range(3):
        clock.advance(5)
        ada.submit_attempt()
    assert stage.follow() == 4
    first = ada.get("/attempts", limit=3).json()
    rest = ada.get("/attempts", limit=3, nextToken=first["nextToken"]).json()
    assert len(first["items"]) + len(rest["items"]) == 4
    assert [listed["attemptCount"] for listed in ada.get("/users/ada/profiles").json()["items"]] == [4, 3, 2, 1]
    assert [listed["scenarioId"] for listed in ada.get("/scenarios").json()["items"]] == [FERRY]
    silent = ada.start_draft()
    clock.advance(86_400)
    assert stage.service.abandon_inactive() == 1
    assert ada.get(f"/attempts/{silent}").json()["status"] == "abandoned"
