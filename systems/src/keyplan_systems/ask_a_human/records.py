"""Converts stored items to domain values and domain values to stored items. Each kind of item has a function for each
direction.
"""

from __future__ import annotations

from datetime import date

from keyplan.client.errors import UnreadableItemError
from keyplan_systems.ask_a_human import entities
from keyplan_systems.ask_a_human.domain import abuse, boards, notifications, questions, scoring
from keyplan_systems.ask_a_human.domain.abuse import Past
from keyplan_systems.ask_a_human.domain.boards import Period
from keyplan_systems.ask_a_human.domain.requests import Audience
from keyplan_systems.ask_a_human.domain.timestamps import iso, parse_iso
from keyplan_systems.ask_a_human.entities import BoardRow, DayRecord, Flag, UserStats


def _ms(text: str | None) -> int | None:
    return None if text is None else parse_iso(text)


def _iso(at_ms: int | None) -> str | None:
    return None if at_ms is None else iso(at_ms)


def stored_question(of: questions.Question) -> entities.Question:
    """Convert a question to an item."""
    return entities.Question(
        question_id=of.question_id,
        status=of.status,
        prompt=of.prompt,
        type=of.type,
        options=list(of.options) or None,
        audience=list(of.audience),
        required_responses=of.required_responses,
        current_responses=of.current_responses,
        need=questions.need(of),
        agent_id=of.agent_id,
        idempotency_key=of.idempotency_key,
        created_at=iso(of.created_at_ms),
        expires_at=of.expires_at_s,
        closed_at=_iso(of.closed_at_ms),
        ttl=questions.ttl_s(of),
    )


def question(stored: entities.Question) -> questions.Question:
    """Convert an item to a question."""
    return questions.Question(
        question_id=stored.question_id,
        agent_id=stored.agent_id,
        prompt=stored.prompt,
        type=stored.type,
        options=tuple(stored.options or ()),
        audience=tuple(stored.audience),
        required_responses=stored.required_responses,
        current_responses=stored.current_responses,
        status=stored.status,
        created_at_ms=parse_iso(stored.created_at),
        expires_at_s=stored.expires_at,
        closed_at_ms=_ms(stored.closed_at),
        idempotency_key=stored.idempotency_key,
    )


def stored_response(of: questions.Response, device: str | None, reply: scoring.Reply) -> entities.Response:
    """Convert a response to an item. The item also contains `device`, the hash of the token of the device that sent the
    answer, and `reply`, the reply to this device.
    """
    return entities.Response(
        question_id=of.question_id,
        response_id=of.response_id,
        answer=of.answer,
        selected_option=of.selected_option,
        confidence=of.confidence,
        fingerprint_hash=of.fingerprint_hash,
        created_at=iso(of.created_at_ms),
        response_time_ms=of.response_time_ms,
        device=device,
        points_earned=reply.points_earned,
        total_points=reply.total_points,
        new_badges=list(reply.new_badges) or None,
        ttl=questions.response_ttl_s(of.created_at_ms),
    )


def response(stored: entities.Response) -> questions.Response:
    """Convert an item to a response."""
    return questions.Response(
        question_id=stored.question_id,
        response_id=stored.response_id,
        fingerprint_hash=stored.fingerprint_hash,
        answer=stored.answer,
        selected_option=stored.selected_option,
        confidence=stored.confidence,
        response_time_ms=stored.response_time_ms,
        created_at_ms=parse_iso(stored.created_at),
    )


def reply(stored: entities.Response) -> scoring.Reply | None:
    """Return the reply that is stored with a response, or None if no reply is stored."""
    if stored.points_earned is None or stored.total_points is None:
        return None
    return scoring.Reply(stored.points_earned, tuple(stored.new_badges or ()), stored.total_points)


def stored_stats(of: scoring.Stats, past: Past, version: int) -> UserStats:
    """Convert a user's record to an item. `past` contains the data for the abuse heuristics. `version` is the version
    that was read; the write increments it.
    """
    return UserStats(
        fingerprint_hash=of.fingerprint_hash,
        total_points=of.total_points,
        total_answers=of.total_answers,
        streak_days=of.streak_days,
        streak_last_date=None if of.streak_last_date is None else of.streak_last_date.isoformat(),
        badges={badge: iso(at_ms) for badge, at_ms in of.badges.items()},
        answers_by_category={tag.value: count for tag, count in of.answers_by_category.items()},
        daily_points={
            day.isoformat(): DayRecord(points=done.points, answers=done.answers) for day, done in of.days.items()
        },
        scored_at=iso(of.scored_at_ms),
        early_answers=of.early_answers,
        night_answers=of.night_answers,
        speedy_answers=of.speedy_answers,
        confident_answers=of.confident_answers,
        text_digests=list(past.text_digests),
        minimal_run=past.minimal_run,
        created_at=iso(of.created_at_ms),
        updated_at=iso(of.updated_at_ms),
        version=version,
    )


def stats(stored: UserStats) -> scoring.Stats:
    """Convert an item to a user's record. Raises UnreadableItemError if the item contains a value that the domain rules
    do not support.
    """
    try:
        return _stats(stored)
    except ValueError as error:
        key = {"fingerprint_hash": stored.fingerprint_hash}
        raise UnreadableItemError(f"the record of a person: {error}", entity="UserStats", key=key) from error


def _stats(stored: UserStats) -> scoring.Stats:
    return scoring.Stats(
        fingerprint_hash=stored.fingerprint_hash,
        created_at_ms=parse_iso(stored.created_at),
        updated_at_ms=parse_iso(stored.updated_at),
        scored_at_ms=parse_iso(stored.scored_at),
        version=stored.version,
        total_points=stored.total_points,
        total_answers=stored.total_answers,
        streak_days=stored.streak_days,
        streak_last_date=None if stored.streak_last_date is None else date.fromisoformat(stored.streak_last_date),
        badges={badge: parse_iso(text) for badge, text in stored.badges.items()},
        answers_by_category={Audience(tag): count for tag, count in stored.answers_by_category.items()},
        days={
            date.fromisoformat(day): scoring.Day(done.points, done.answers) for day, done in stored.daily_points.items()
        },
        early_answers=stored.early_answers,
        night_answers=stored.night_answers,
        speedy_answers=stored.speedy_answers,
        confident_answers=stored.confident_answers,
    )


def past(stored: UserStats) -> Past:
    """Return the part of a user's record that the abuse heuristics use."""
    return Past(tuple(stored.text_digests), stored.minimal_run)


def stored_row(of: boards.Row, period: Period, now_ms: int) -> BoardRow:
    """Convert a user's leaderboard row to an item. The item belongs to the leaderboard of the given kind (daily, weekly
    or all-time) whose period contains `now_ms`.
    """
    board = boards.period_key(period, now_ms)
    return BoardRow(
        board=board,
        person=of.fingerprint_hash,
        leaderboard=boards.partition(board, boards.shard(of.fingerprint_hash)),
        place=of.sort_key,
        total_points=of.points,
        total_answers=of.answers,
        ttl=boards.ttl_s(period, now_ms),
    )


def row(stored: BoardRow) -> boards.Row:
    """Convert an item to a leaderboard row."""
    points, reached_at_ms, person = boards.read_sort_key(stored.place)
    return boards.Row(person, points, stored.total_answers, reached_at_ms)


def stored_flag(of: abuse.Flag) -> Flag:
    """Convert a flag to an item. The item expires at the same time as the flagged response."""
    return Flag(
        flag_id=of.flag_id,
        question=of.question_id,
        response=of.response_id,
        person=of.fingerprint_hash,
        reason=of.reason,
        flagged_at=iso(of.flagged_at_ms),
        reviewed=of.reviewed,
        action=of.action,
        reviewed_at=_iso(of.reviewed_at_ms),
        ttl=questions.response_ttl_s(of.flagged_at_ms),
    )


def stored_subscription(of: notifications.Subscription, version: int) -> entities.Subscription:
    """Convert a subscription to an item. `version` is the version that was read, or 0 for a new subscription."""
    return entities.Subscription(
        subscription_id=of.subscription_id,
        fcm_token=of.fcm_token,
        token_digest=notifications.token_digest(of.fcm_token),
        fingerprint_hash=of.fingerprint_hash,
        min_interval_minutes=of.min_interval_minutes,
        last_notified_at=_iso(of.last_notified_at_ms),
        next_eligible_at=iso(of.next_eligible_at_ms),
        created_at=iso(of.created_at_ms),
        updated_at=iso(of.updated_at_ms),
        active=of.active,
        device=of.device,
        version=version,
    )


def subscription(stored: entities.Subscription) -> notifications.Subscription:
    """Convert an item to a subscription."""
    return notifications.Subscription(
        subscription_id=stored.subscription_id,
        fcm_token=stored.fcm_token,
        fingerprint_hash=stored.fingerprint_hash,
        min_interval_minutes=stored.min_interval_minutes,
        last_notified_at_ms=_ms(stored.last_notified_at),
        next_eligible_at_ms=parse_iso(stored.next_eligible_at),
        active=stored.active,
        device=stored.device,
        created_at_ms=parse_iso(stored.created_at),
        updated_at_ms=parse_iso(stored.updated_at),
    )
