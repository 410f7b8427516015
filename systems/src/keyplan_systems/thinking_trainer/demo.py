"""Trainer's part of the demo: an attempt is begun, saved, submitted, and appears in the profile."""

from __future__ import annotations

import time
from typing import Any

import httpx

from keyplan_systems.web.system import DemoStage, json_of

_TRIES, _PAUSE_S = 100, 0.1
_ANSWER = (
    "Because 33 of 41 speakers are not all neighbours, the sample is probably biased; I assume that those who came care"
    " most. However, a survey of 400 households would be better evidence, although it might also mislead."
)


def play(stage: DemoStage) -> None:
    """Play the part. Raises httpx.HTTPError if the system refuses."""
    with stage.client("demo-ada") as ada:
        scenario = json_of(ada.get("/scenarios"))["items"][0]
        attempt = json_of(ada.post("/attempts/drafts", json={"scenarioId": scenario["scenarioId"]}))
        stage.say(f"ada begins “{scenario['title']}” ({scenario['difficulty']})")
        answers = [{"questionId": question["questionId"], "answer": _ANSWER} for question in scenario["questions"]]
        path = f"/attempts/{attempt['attemptId']}"
        json_of(ada.put(f"{path}/answers", json={"answers": answers[:1]}))
        done = json_of(ada.post(f"{path}/submit", json={"answers": answers}))
        stage.say(f"she submits: {done['evaluation']['overallScore']} points, by {done['evaluation']['modelId']}")
        profile = _until(ada, "/users/demo-ada/profile")
        weak = ", ".join(weakness["dimension"] for weakness in profile["weaknesses"]) or "nothing"
        stage.say(f"the stream has built her profile: {profile['attemptCount']} attempt(s), weak in {weak}")
        again = ada.post(f"{path}/submit", json={"answers": answers})
        stage.say(f"a second submit is refused: {again.status_code} {again.json()['error']['message']}")
    with stage.client("demo-bob") as bob:
        stage.say(f"bob may not look at it: {bob.get(path).status_code}")


def _until(client: httpx.Client, path: str) -> Any:
    """Return the answer once the consumer has caught up."""
    for _ in range(_TRIES):
        answer = client.get(path)
        if answer.status_code != httpx.codes.NOT_FOUND:
            return json_of(answer)
        time.sleep(_PAUSE_S)
    return json_of(answer)
