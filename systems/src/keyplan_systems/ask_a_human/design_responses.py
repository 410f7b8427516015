"""Access patterns for responses, flags on suspicious responses, and request counters."""

from __future__ import annotations

from keyplan import F, ItemKey, ItemWrite, KeyCondition, Rate, every_shard, item, pk
from keyplan_systems.ask_a_human.domain.abuse import Action
from keyplan_systems.ask_a_human.entities import Counter, Flag, Response, Timestamp, responses


@responses.query(
    Response, consistent=True, rate=Rate(average=50, peak=200), expected_items=5, after=["answer_question"]
)
def responses_of_question(question_id: str) -> KeyCondition:
    """Get the responses to a question with a strongly consistent read."""
    return pk(question_id=question_id)


@responses.query(Response, index="ByFingerprint", descending=True, rate=Rate(average=0.1), expected_items=20)
def recent_answers(fingerprint_hash: str) -> KeyCondition:
    """List a user's answers, newest first."""
    return pk(fingerprint_hash=fingerprint_hash)


@responses.get(Response, consistent=True, rate=Rate(average=120, peak=1_600), after=["answer_question"])
def response_of(question_id: str, response_id: str) -> ItemKey:
    """Get a user's response to a question, to detect a duplicate answer."""
    return item(question_id=question_id, response_id=response_id)


@responses.create(Response)
def add_response(response: Response) -> ItemWrite:
    """Store a user's answer, if the user has not answered the question yet."""
    return item(response)


@responses.create(Flag)
def add_flag(flag: Flag) -> ItemWrite:
    """Add a flag, which asks reviewers to check a suspicious answer."""
    return item(flag)


@responses.query(Flag, index="ByReview", rate=Rate(average=0.01), expected_items=20)
def unreviewed_flags() -> KeyCondition:
    """List the unreviewed flags on suspicious answers, oldest first."""
    return pk(flag_id=every_shard())


@responses.update(Flag, rate=Rate(average=0.01))
def review_flag(flag_id: str, action: Action, reviewed_at: Timestamp) -> ItemWrite:
    """Store a reviewer's decision on a flag."""
    return item(flag_id=flag_id).set(reviewed=True, action=action, reviewed_at=reviewed_at)


@responses.update(Counter, upsert=True, rate=Rate(average=250, peak=2_500))
def count_request(window: str, allowed: int, ttl: int) -> ItemWrite:
    """Count a request in a time window, if fewer than `allowed` requests were counted in it."""
    return item(window=window).add(requests=1).set(ttl=ttl).condition(F.requests.missing() | (F.requests < allowed))


@responses.get(Counter, consistent=True, rate=Rate.monthly(100), after=["count_request"])
def counter_of(window: str) -> ItemKey:
    """Get the counter of the requests in a time window."""
    return item(window=window)
