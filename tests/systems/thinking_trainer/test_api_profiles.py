"""Profiles over HTTP: latest, history, charts; visible to their own user only."""

from __future__ import annotations

import io
import sys
from urllib.parse import quote

import matplotlib.image
import pytest
from tests.systems.thinking_trainer.builders import snapshot
from tests.systems.thinking_trainer.old_items import old_profile, raw
from tests.systems.thinking_trainer.stage import ANSWERS, Caller, Stage

from keyplan.clock import ManualClock
from keyplan_systems.thinking_trainer.domain.recommendations import RECOMMENDATIONS
from keyplan_systems.thinking_trainer.domain.rubric import Dimension

LONGER = {
    "q1": "It assumes the tide is regular. However, 12 of 30 crossings is 40%, so another cause is likely: the crew, or"
    " fog. If calm days were late too, I would change my mind. The evidence is weak because the sample is small.",
    "q2": "Perhaps the crew was late; alternatively the pier was full. I define delay as more than 5 minutes. Therefore"
    " I estimate 40% and would compare it with last year. I am not sure that the log is complete.",
}


def test_the_latest_profile_follows_every_submission_and_covers_all_attempts(
    stage: Stage, ada: Caller, clock: ManualClock
) -> None:
    assert ada.get("/users/ada/profile").status_code == 404
    for number in range(12):
        clock.advance(60)
        ada.submit_attempt(LONGER if number % 3 else ANSWERS)
    assert stage.follow() == 12
    profile = ada.get("/users/ada/profile").json()
    page = stage.service.submitted_attempts("ada", 100, None)
    expected = snapshot(page.items[:10], 12).model_dump(mode="json", by_alias=True)
    assert profile == expected
    assert profile["attemptCount"] == 12
    assert [len(dimension["recentScores"]) for dimension in profile["dimensions"]] == [10] * 8
    for weak in profile["weaknesses"]:
        assert RECOMMENDATIONS[Dimension(weak["dimension"])] in profile["recommendations"]
    assert len(profile["weaknesses"]) == len(profile["recommendations"]) == 3


def test_improvements_and_trends_follow_the_scores(stage: Stage, ada: Caller, clock: ManualClock) -> None:
    for number in range(8):
        clock.advance(60)
        ada.submit_attempt(ANSWERS if number < 4 else LONGER)
    stage.follow()
    profile = ada.get("/users/ada/profile").json()
    assert len(profile["improvements"]) == 3
    for improvement in profile["improvements"]:
        assert improvement["to"] - improvement["from"] == pytest.approx(improvement["improvement"])
        assert improvement["improvement"] > 0
    trends = {dimension["name"]: dimension["trend"] for dimension in profile["dimensions"]}
    assert {trends[entry["dimension"]] for entry in profile["improvements"]} == {"improving"}


def test_the_history_is_paged_newest_first_without_gaps(stage: Stage, ada: Caller, clock: ManualClock) -> None:
    for _ in range(5):
        clock.advance(60)
        ada.submit_attempt()
    stage.follow()
    counts: list[int] = []
    token = None
    while True:
        page = ada.get("/users/ada/profiles", limit=2, **({"nextToken": token} if token else {})).json()
        counts += [profile["attemptCount"] for profile in page["items"]]
        token = page["nextToken"]
        if token is None:
            break
    assert counts == [5, 4, 3, 2, 1]
    assert ada.get("/users/ada/profiles", nextToken="nonsense").status_code == 400


@pytest.mark.parametrize("path", ["profile", "profiles", "progress", "progress?format=png"])
def test_only_the_owner_reads_a_profile(stage: Stage, ada: Caller, path: str) -> None:
    ada.submit_attempt()
    stage.follow()
    assert ada.get(f"/users/ada/{path}").status_code == 200
    assert stage.person("bob").get(f"/users/ada/{path}").status_code == 403
    assert stage.person("root", "administrators").get(f"/users/ada/{path}").status_code == 403


@pytest.mark.parametrize("subject", ["us-east-1:7f0c", "google/7f0c", "a/profile", "auth0|7f0c?#%2F", "Jürgen Ö. 因果"])
def test_a_user_with_any_id_reads_the_own_profile(stage: Stage, subject: str) -> None:
    user = stage.person(subject)
    user.submit_attempt()
    assert stage.follow() == 1
    own = f"/users/{quote(subject, safe='')}"
    assert user.get(f"{own}/profile").json()["userId"] == subject
    assert [profile["userId"] for profile in user.get(f"{own}/profiles").json()["items"]] == [subject]
    assert user.get(f"{own}/progress").status_code == 200
    assert stage.person("bob").get(f"{own}/profile").status_code == 403


def test_drafts_and_abandoned_attempts_create_no_profile(stage: Stage, ada: Caller) -> None:
    ada.start_draft()
    ada.post(f"/attempts/{ada.start_draft()}/abandon")
    assert stage.follow() == 0
    assert ada.get("/users/ada/profile").status_code == 404
    assert ada.get("/users/ada/progress").status_code == 404


def test_progress_is_drawn_as_text_and_as_an_image(stage: Stage, ada: Caller, clock: ManualClock) -> None:
    for _ in range(3):
        clock.advance(60)
        ada.submit_attempt()
    stage.follow()
    text = ada.get("/users/ada/progress")
    assert text.headers["content-type"].startswith("text/plain")
    assert "Progress over 3 attempts" in text.text
    assert all(name.value in text.text for name in Dimension)
    png = ada.get("/users/ada/progress", format="png")
    assert png.headers["content-type"] == "image/png"
    assert matplotlib.image.imread(io.BytesIO(png.content), format="png").shape[:2] == (1000, 900)
    assert ada.get("/users/ada/progress", format="gif").status_code == 400


def test_a_missing_image_library_is_reported_with_a_fix(
    stage: Stage, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.submit_attempt()
    stage.follow()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    refused = ada.get("/users/ada/progress", format="png")
    assert (refused.status_code, refused.json()["error"]["code"]) == (501, "not_installed")
    assert "keyplan[charts]" in refused.json()["error"]["message"]


@pytest.mark.parametrize("dimensions", [[], "none"], ids=["of an old version", "of none"])
def test_an_unreadable_profile_is_reported(stage: Stage, ada: Caller, dimensions: object) -> None:
    item = raw(old_profile(userId="ada", dimensions=dimensions))
    stage.connection.transport.call("PutItem", {"TableName": "Profiles", "Item": item})
    response = ada.get("/users/ada/profile")
    assert (response.status_code, response.json()["error"]["code"]) == (500, "unreadable_item")
    assert ada.get("/users/ada/profiles").json()["items"] == []
    assert stage.person("ben").get("/users/ben/profile").status_code == 404


def test_a_list_reports_the_number_of_omitted_profiles(stage: Stage, ada: Caller) -> None:
    ada.submit_attempt()
    stage.follow()
    sound = ada.get("/users/ada/profiles")
    assert "unreadable" not in sound.json()
    item = raw(old_profile(userId="ada", dimensions=[]))
    stage.connection.transport.call("PutItem", {"TableName": "Profiles", "Item": item})
    response = ada.get("/users/ada/profiles")
    assert response.json() == {**sound.json(), "unreadable": 1}
    assert response.headers["X-Unreadable-Items"] == "1"
