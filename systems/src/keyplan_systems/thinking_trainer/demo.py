"""The trainer part of the demo, in which an attempt is started, saved and submitted, and then appears in
the profile.
"""

from __future__ import annotations

import time
from typing import Any

import httpx

from keyplan_systems.web.system import DemoStage, json_of
from keyplan_systems.web.tour import Tour

_TRIES, _PAUSE_S = 100, 0.1
_ANSWER = (
    "Because 33 of 41 speakers are not all neighbours, the sample is probably biased; I assume that those who came care"
    " most. However, a survey of 400 households would be better evidence, although it might also mislead."
)


def play(stage: DemoStage) -> None:
    """Run the trainer part of the demo. Raises httpx.HTTPError if the system rejects a request."""
    with stage.client("ada") as ada:
        scenario = json_of(ada.get("/scenarios"))["items"][0]
        attempt = json_of(ada.post("/attempts/drafts", json={"scenarioId": scenario["scenarioId"]}))
        stage.say(f"ada starts “{scenario['title']}” ({scenario['difficulty']})")
        answers = [{"questionId": question["questionId"], "answer": _ANSWER} for question in scenario["questions"]]
        path = f"/attempts/{attempt['attemptId']}"
        json_of(ada.put(f"{path}/answers", json={"answers": answers[:1]}))
        submitted = json_of(ada.post(f"{path}/submit", json={"answers": answers}))
        stage.say(
            f"she submits: {submitted['evaluation']['overallScore']} points, by {submitted['evaluation']['modelId']}"
        )
        profile = _until(ada, "/users/ada/profile")
        weak = ", ".join(weakness["dimension"] for weakness in profile["weaknesses"]) or "nothing"
        stage.say(f"the stream has built her profile: {profile['attemptCount']} attempt(s), weak in {weak}")
        second = ada.post(f"{path}/submit", json={"answers": answers})
        stage.say(f"submitting again is rejected: {second.status_code} {second.json()['error']['message']}")
    with stage.client("demo-bob") as bob:
        stage.say(f"bob may not read it: {bob.get(path).status_code}")
    stage.link(path.removeprefix("/"), "Ada")
    stage.link("profile", "Ada")


def show(tour: Tour) -> None:
    """Run the trainer part of the demo in a browser: Ada solves a scenario and reads her evaluation and her profile."""
    ada = tour.open("ada")
    tour.say(ada, "Ada chooses a scenario")
    ada.click(ada.page.locator("a.card").first)
    start = ada.page.get_by_role("button", name="Start an attempt")
    ada.click(start if start.count() else ada.page.get_by_role("link", name="Continue your attempt"))
    tour.say(ada, "She answers; the draft is saved while she writes")
    for field in ada.page.locator("textarea").all():
        ada.write(field, _ANSWER)
    tour.say(ada, "She submits, and the answers are evaluated in eight dimensions, with reasons")
    ada.click(ada.page.get_by_role("button", name="Submit"))
    ada.see(ada.page.get_by_text("of 100"))
    tour.say(ada, "Her profile shows averages, weaknesses, and scenarios that train them")
    ada.click(ada.page.get_by_role("link", name="Your profile"))
    for _ in range(_TRIES):
        if ada.page.locator(".tile").count():
            break
        ada.page.wait_for_timeout(_PAUSE_S * 1000)
        ada.page.reload()
    ada.see(ada.page.locator(".tile").first)


def _until(client: httpx.Client, path: str) -> Any:
    """Request a path repeatedly until the consumer has processed the attempt, and return the response."""
    for _ in range(_TRIES):
        response = client.get(path)
        if response.status_code != httpx.codes.NOT_FOUND:
            return json_of(response)
        time.sleep(_PAUSE_S)
    return json_of(response)
