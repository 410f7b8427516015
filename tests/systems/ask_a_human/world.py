"""Ask-a-Human in plain dictionaries: the domain's functions without a database, for tests."""

from __future__ import annotations

import random
from collections import defaultdict
from zoneinfo import ZoneInfo

from keyplan_systems.ask_a_human.domain import boards, limits, notifications, questions, requests, scoring
from keyplan_systems.ask_a_human.domain.boards import Period
from keyplan_systems.ask_a_human.domain.refusals import AlreadyAnsweredError, QuestionNotFoundError, RefusedError
from keyplan_systems.ask_a_human.simulation.actions import Action, Answer, Ask, Subscribe
from keyplan_systems.ask_a_human.simulation.auditor import AcceptedReply, Auditor


class World:
    """Single process, single thread, no network: the effects of the rules alone on a day."""

    def __init__(self, seed: int, auditor: Auditor, *, push_every: int = 4) -> None:
        self.rng = random.Random(seed)
        self.auditor = auditor
        self.push_every = push_every
        self.ids: dict[int, str] = {}
        self.refs: dict[str, int] = {}
        self.questions: dict[str, questions.Question] = {}
        self.keys: dict[tuple[str, str], questions.KeyRecord] = {}
        self.responses: dict[str, questions.Response] = {}
        self.stats: dict[str, scoring.Stats] = {}
        self.rows: dict[tuple[str, str], boards.Row] = {}
        self.histograms: defaultdict[str, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
        self.counters: defaultdict[str, int] = defaultdict(int)
        self.open: defaultdict[str, set[str]] = defaultdict(set)
        self.subscriptions: dict[str, notifications.Subscription] = {}
        self.people: dict[str, str] = {}
        self.told: dict[tuple[str, str], int] = {}

    def run(self, action: Action) -> None:
        """Execute one request and report the result to the auditor."""
        match action:
            case Ask():
                self._ask(action)
            case Answer():
                self._answer(action)
            case Subscribe():
                self._subscribe(action)

    def _ask(self, action: Ask) -> None:
        try:
            question_id = self._create(action)
        except RefusedError as refused:
            self.auditor.record_refused_question(action, refused.code)
            return
        self.auditor.record_question(action, question_id)
        if self.ids.get(action.ref) != question_id:
            self.ids[action.ref], self.refs[question_id] = question_id, action.ref
            if action.ref % self.push_every == 0:
                self._push(self.questions[question_id], action.at_ms)

    def _create(self, action: Ask) -> str:
        now_ms = action.at_ms
        request = requests.parse(requests.QuestionRequest, action.body)
        key = requests.idempotency_key(request.idempotency_key, None)
        previous = self.keys.get((action.agent, key)) if key is not None else None
        if (again := questions.repeated_question_id(previous, request.digest(), now_ms)) is not None:
            return again
        self._limit(limits.QUESTIONS, action.agent, now_ms)
        self._sweep(action.agent, now_ms)
        if len(self.open[action.agent]) >= limits.OPEN_QUESTIONS_MAX:
            raise limits.quota_refusal()
        question = questions.create(request, action.agent, questions.new_question_id(self.rng), key, now_ms)
        self.questions[question.question_id] = question
        self.open[action.agent].add(question.question_id)
        if key is not None:
            self.keys[action.agent, key] = questions.KeyRecord(question.question_id, request.digest(), now_ms)
        return question.question_id

    def _sweep(self, agent: str, now_ms: int) -> None:
        for question_id in sorted(self.open[agent]):
            if (expired := questions.expire(self.questions[question_id], now_ms)) is not None:
                self.questions[question_id] = expired
                self.open[agent].discard(question_id)

    def _answer(self, action: Answer) -> None:
        try:
            scored = self._respond(action)
        except RefusedError as refused:
            self.auditor.record_refused_answer(action, refused.code)
            return
        acknowledged = AcceptedReply(scored.points.earned, scored.new_badges, scored.stats.total_points)
        self.auditor.record_answer(action, acknowledged)

    def _respond(self, action: Answer) -> scoring.ScoredAnswer:
        now_ms, person = action.at_ms, requests.fingerprint_hash(action.person)
        self.people[person] = action.person
        question = self.questions.get(self.ids.get(action.ref, ""))
        if question is None or questions.is_removable(question, now_ms):
            raise QuestionNotFoundError("no such question")
        after = self.after_answer(question, now_ms)
        if self.seen(questions.response_id(question.question_id, person)):
            raise AlreadyAnsweredError("answered already")
        self._limit(limits.RESPONSES, person, now_ms)
        self._limit(limits.RESPONSE_PACE, person, now_ms)
        body = {**action.body, "question_id": question.question_id}
        response = questions.create_response(question, requests.parse(requests.AnswerRequest, body), person, now_ms)
        self.responses[response.response_id] = response
        self.questions[question.question_id] = after
        if not after.status.answerable:
            self.open[question.agent_id].discard(question.question_id)
        result = self.told.get((question.question_id, person))
        return self._score(scoring.answer_facts(question, response, ZoneInfo(action.zone), result), person, now_ms)

    def after_answer(self, question: questions.Question, now_ms: int) -> questions.Question:
        """Return the question after an answer; a hook for tests that violate rules."""
        return questions.add_answer(question, now_ms)

    def seen(self, response_id: str) -> bool:
        """Return True if the person answered this question; a hook for tests that violate rules."""
        return response_id in self.responses

    def score(self, stats: scoring.Stats, facts: scoring.AnswerFacts, now_ms: int) -> scoring.ScoredAnswer:
        """Return the score of an answer; a hook for tests that violate rules."""
        return scoring.apply_answer(stats, facts, now_ms)

    def _score(self, facts: scoring.AnswerFacts, person: str, now_ms: int) -> scoring.ScoredAnswer:
        scored = self.score(self.stats.get(person) or scoring.new_stats(person, now_ms), facts, now_ms)
        self.stats[person] = scored.stats
        for period in Period:
            self._place(boards.period_key(period, now_ms), boards.row(scored.stats, period, now_ms))
        return scored

    def _place(self, board: str, row: boards.Row) -> None:
        before = self.rows.get((board, row.fingerprint_hash))
        moves = boards.bucket_moves(before.points if before is not None else None, row.points)
        for bucket, change in moves.items():
            self.histograms[boards.partition(board, boards.shard(row.fingerprint_hash))][bucket] += change
        self.rows[board, row.fingerprint_hash] = row

    def _limit(self, limit: limits.Limit, caller: str, now_ms: int) -> None:
        window = limits.window(limit, caller, now_ms)
        if self.counters[window.key] >= limit.allowed:
            raise limits.refusal(window, now_ms)
        self.counters[window.key] += 1

    def _subscribe(self, action: Subscribe) -> None:
        request = requests.parse(requests.SubscribeRequest, action.body)
        previous = self.subscriptions.get(notifications.subscription_id(request.fcm_token))
        person = requests.fingerprint_hash(action.person)
        self.people[person] = action.person
        subscription = notifications.subscribe(request, person, previous, action.at_ms)
        self.subscriptions[subscription.subscription_id] = subscription
        self.auditor.record_subscription(action)

    def _push(self, question: questions.Question, now_ms: int) -> None:
        sample = notifications.Reservoir[notifications.Subscription](notifications.recipient_count(question), self.rng)
        sample.offer(
            subscription
            for subscription in self.subscriptions.values()
            if notifications.is_eligible(subscription, now_ms)
        )
        for recipient in sample.sample():
            claimed = self.claim(recipient, now_ms)
            assert claimed is not None
            self.subscriptions[recipient.subscription_id] = claimed
            self.told[question.question_id, recipient.fingerprint_hash] = now_ms
            person, ref = self.people[recipient.fingerprint_hash], self.refs[question.question_id]
            self.auditor.record_notification(recipient.fcm_token, person, ref, now_ms)

    def claim(self, subscription: notifications.Subscription, now_ms: int) -> notifications.Subscription | None:
        """Return the subscription as notified; a hook for tests that violate rules."""
        return notifications.claim(subscription, now_ms)

    def shards(self, board: str) -> list[list[boards.Row]]:
        """Return the board's rows by shard, each in order, as queries would return them."""
        results: list[list[boards.Row]] = [[] for _ in range(boards.SHARDS)]
        for (name, person), row in self.rows.items():
            if name == board:
                results[boards.shard(person)].append(row)
        return [sorted(shard, key=lambda row: row.sort_key) for shard in results]

    def rank(self, board: str, person: str) -> int:
        """Return the person's rank by histograms and range counts."""
        own = self.rows[board, person]
        low, high = boards.better_range(own)
        counted = sum(low <= row.sort_key <= high for shard in self.shards(board) for row in shard)
        return boards.rank((self.histograms[partition] for partition in boards.partitions(board)), own, counted)
