"""The driver of a simulated day. It sends HTTP requests, runs the workers, and audits all results.

Requests are sent one after the other, each at a different millisecond, so that the expected results can be computed
exactly. Only pollers send their requests concurrently. The measured latencies therefore include the effect of their
load.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import httpx

from keyplan_systems.ask_a_human.domain.notifications import Delivered, Outcome
from keyplan_systems.ask_a_human.domain.timestamps import HOUR_MS, MINUTE_MS, from_seconds
from keyplan_systems.ask_a_human.leaderboards import Ranking
from keyplan_systems.ask_a_human.notifier import PushMessage
from keyplan_systems.ask_a_human.push_worker import PushWorker
from keyplan_systems.ask_a_human.simulation.actions import Action, Answer, Ask, Subscribe
from keyplan_systems.ask_a_human.simulation.auditor import AcceptedReply, Auditor
from keyplan_systems.ask_a_human.simulation.clock import DayClock
from keyplan_systems.ask_a_human.sweeper import Sweeper

SWEEP_EVERY_MS = 10 * MINUTE_MS
NOBODYS_QUESTION = "00000000-0000-4000-8000-000000000000"


class Recorder:
    """Records push messages and their times instead of sending them."""

    def __init__(self, clock: DayClock) -> None:
        self._clock = clock
        self.messages: list[tuple[int, PushMessage]] = []

    async def send(self, message: PushMessage) -> Outcome:
        """Record a message and report it as delivered."""
        self.messages.append((from_seconds(self._clock.now()), message))
        return Delivered(f"recorded/{len(self.messages)}")

    async def close(self) -> None:
        """Do nothing, because the recorder does not hold any resources."""


@dataclass
class Latencies:
    """The durations of requests in seconds, grouped by kind of request."""

    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def percentile_ms(self, kind: str, share: float) -> float:
        """Return a percentile of the durations of one kind of request, in milliseconds. `share` is the percentile as a
        number from 0 to 1.
        """
        durations_s = sorted(self.seconds[kind])
        return durations_s[min(len(durations_s) - 1, int(share * len(durations_s)))] * 1000 if durations_s else 0.0


@dataclass
class Workers:
    """The system's workers, which the simulation runs at simulated times."""

    sweeper: Sweeper
    pusher: PushWorker
    ranking: Ranking
    recorder: Recorder


class SimulatedDay:
    """Sends the requests of a simulated day, runs the workers, and records latencies."""

    def __init__(
        self, client: httpx.Client, clock: DayClock, workers: Workers, *, push_every_ms: int = HOUR_MS
    ) -> None:
        self.auditor = Auditor()
        self.latencies = Latencies()
        self.codes: Counter[str] = Counter()
        self.zones: dict[str, str] = {}
        self.pushes = 0
        self.ids: dict[int, str] = {}
        self._client, self._clock, self._workers = client, clock, workers
        self._push_every_ms = push_every_ms
        self._refs: dict[str, int] = {}
        self._tokens: dict[str, str] = {}
        self.devices: dict[str, dict[str, str]] = {}
        self._agents: dict[str, dict[str, str]] = {}
        self.askers: dict[str, dict[str, str]] = {}

    def run(self, actions: Iterable[Action]) -> None:
        """Send all requests in order, and run the workers in between."""
        swept_ms = pushed_ms = last_ms = 0
        for action in actions:
            before_ms = action.at_ms - 1
            if action.at_ms - swept_ms >= SWEEP_EVERY_MS:
                swept_ms = action.at_ms
                self._clock.set(before_ms)
                _until_done(self._workers.sweeper.run_once)
            # A separate millisecond, because the order of a push and an answer in one millisecond would be undefined.
            if action.at_ms - pushed_ms >= self._push_every_ms and before_ms > last_ms:
                pushed_ms = action.at_ms
                self._clock.set(before_ms)
                self._push()
                self._workers.ranking.run_once()
            last_ms = action.at_ms
            self._clock.set(action.at_ms)
            self._send(action)
        self._workers.ranking.run_once()

    def _push(self) -> None:
        _until_done(self._workers.pusher.run_once)
        messages, self._workers.recorder.messages = self._workers.recorder.messages, []
        self.pushes += len(messages)
        for at_ms, message in messages:
            self.auditor.record_notification(
                message.token, self._tokens[message.token], self._refs[message.question_id], at_ms
            )

    def _send(self, action: Action) -> None:
        match action:
            case Ask():
                self._ask(action)
            case Answer():
                self._answer(action)
            case Subscribe():
                self._subscribe(action)

    def _ask(self, action: Ask) -> None:
        response = self._timed_post("ask", "/agent/questions", action.body, self._agent_headers(action.agent))
        if response.status_code != httpx.codes.CREATED:
            self.auditor.record_refused_question(action, self._code(response))
            return
        question_id = response.json()["question_id"]
        self.askers[question_id] = self._agent_headers(action.agent)
        self.ids[action.ref], self._refs[question_id] = question_id, action.ref
        self.auditor.record_question(action, question_id)

    def _agent_headers(self, agent: str) -> dict[str, str]:
        """Return the request headers of an agent. The agent is registered when it asks its first question."""
        if agent not in self._agents:
            body, headers = {"agent_id": agent}, {"X-Forwarded-For": f"host-{agent}"}
            credentials = self._client.post("/agent/register", json=body, headers=headers).raise_for_status().json()
            self._agents[agent] = {"X-Agent-Id": agent, "Authorization": f"Bearer {credentials['secret']}"}
        return self._agents[agent]

    def _answer(self, action: Answer) -> None:
        self.zones[action.person] = action.zone
        body = {**action.body, "question_id": self.ids.get(action.ref, NOBODYS_QUESTION)}
        headers = {**self._device_headers(action.person), "X-Timezone": action.zone}
        response = self._timed_post("answer", "/human/responses", body, headers)
        if response.status_code != httpx.codes.CREATED:
            self.auditor.record_refused_answer(action, self._code(response))
            return
        body = response.json()
        badges = tuple(badge["id"] for badge in body["new_badges"])
        self.auditor.record_answer(action, AcceptedReply(body["points_earned"], badges, body["total_points"]))

    def _device_headers(self, person: str) -> dict[str, str]:
        """Return the request headers of a user. The first call for a user registers a device from a new network
        address.
        """
        if person not in self.devices:
            headers = {"X-Fingerprint": person, "X-Forwarded-For": f"host-{person}"}
            token = self._client.post("/human/devices", headers=headers).raise_for_status().json()["token"]
            self.devices[person] = {**headers, "Authorization": f"Bearer {token}"}
        return self.devices[person]

    def _subscribe(self, action: Subscribe) -> None:
        token = str(action.body["fcm_token"])
        headers = {**self._device_headers(action.person), "X-Forwarded-For": f"host-{token}"}
        self._timed_post("subscribe", "/human/push/subscribe", action.body, headers).raise_for_status()
        self._tokens[token] = action.person
        self.auditor.record_subscription(action)

    def _timed_post(self, kind: str, path: str, body: Any, headers: dict[str, str]) -> httpx.Response:
        started_s = time.perf_counter()
        response = self._client.post(path, json=dict(body), headers=headers)
        self.latencies.seconds[kind].append(time.perf_counter() - started_s)
        return response

    def _code(self, response: httpx.Response) -> str:
        code = str(response.json()["error"]["code"])
        self.codes[code] += 1
        return code


def _until_done(run_once: Any) -> None:
    while run_once():
        pass


class Pollers:
    """Agents that poll their questions during the simulated day. They verify that the number of answers in each
    response matches the count in the response.
    """

    def __init__(self, client: httpx.Client, day: SimulatedDay, count: int, pause_s: float = 0.02) -> None:
        self.findings: list[str] = []
        self._client, self._day, self._pause_s = client, day, pause_s
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(count)]

    def __enter__(self) -> Pollers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, number: int) -> None:
        rng = random.Random(number)  # noqa: S311 - which question is polled
        while not self._stop.wait(self._pause_s):
            askers = list(self._day.askers.items())
            if askers:
                self._poll(*rng.choice(askers))

    def _poll(self, question_id: str, asker: dict[str, str]) -> None:
        started_s = time.perf_counter()
        response = self._client.get(f"/agent/questions/{question_id}", headers=asker)
        self._day.latencies.seconds["poll"].append(time.perf_counter() - started_s)
        if response.status_code in {httpx.codes.NOT_FOUND, httpx.codes.TOO_MANY_REQUESTS}:
            return  # the question is deleted, or the hourly limit of polls is reached because simulated hours are short
        body = response.json()
        if response.status_code != httpx.codes.OK or len(body["responses"]) != body["current_responses"]:
            self.findings.append(f"poll of {question_id}: {response.status_code} {response.text[:200]}")
