"""Converts stored items to domain values and domain values to stored items. Each kind of item has a function for each
direction.
"""

from __future__ import annotations

from datetime import date

from keyplan.client.errors import UnreadableItemError
from keyplan_systems.ask_a_human import entities
from keyplan_systems.ask_a_human.domain import abuse, boards, notifications, questions, scoring
from keyplan_systems.ask_a_human.domain.abuse import AnswerHistory
from keyplan_systems.ask_a_human.domain.boards import Period
from keyplan_systems.ask_a_human.domain.requests import Audience
from keyplan_systems.ask_a_human.domain.timestamps import iso, parse_iso
from keyplan_systems.ask_a_human.entities import BoardRow, DayRecord, Flag, UserStats


def _ms(text: str | None) -> int | None:
    return None if text is None else parse_iso(text)


def _iso(at_ms: int | None) -> str | None:
    return None if at_ms is None else iso(at_ms)


def question_item(question: questions.Question) -> entities.Question:
    """Convert a question to an item."""
    return entities.Question(
        question_id=question.question_id,
        status=question.status,
        prompt=question.prompt,
        type=question.type,
        options=list(question.options) or None,
        audience=list(question.audience),
        required_responses=question.required_responses,
        current_responses=question.current_responses,
        need=questions.need(question),
        agent_id=question.agent_id,
        idempotency_key=question.idempotency_key,
        created_at=iso(question.created_at_ms),
        expires_at=question.expires_at_s,
        closed_at=_iso(question.closed_at_ms),
        ttl=questions.ttl_s(question),
    )


def question(item: entities.Question) -> questions.Question:
    """Convert an item to a question."""
    return questions.Question(
        question_id=item.question_id,
        agent_id=item.agent_id,
        prompt=item.prompt,
        type=item.type,
        options=tuple(item.options or ()),
        audience=tuple(item.audience),
        required_responses=item.required_responses,
        current_responses=item.current_responses,
        status=item.status,
        created_at_ms=parse_iso(item.created_at),
        expires_at_s=item.expires_at,
        closed_at_ms=_ms(item.closed_at),
        idempotency_key=item.idempotency_key,
    )


def response_item(response: questions.Response, device: str | None, reply: scoring.Reply) -> entities.Response:
    """Convert a response to an item. The item also contains `device`, the hash of the token of the device that sent the
    answer, and `reply`, the reply to this device.
    """
    return entities.Response(
        question_id=response.question_id,
        response_id=response.response_id,
        answer=response.answer,
        selected_option=response.selected_option,
        confidence=response.confidence,
        fingerprint_hash=response.fingerprint_hash,
        created_at=iso(response.created_at_ms),
        response_time_ms=response.response_time_ms,
        device=device,
        points_earned=reply.points_earned,
        total_points=reply.total_points,
        new_badges=list(reply.new_badges) or None,
        ttl=questions.response_ttl_s(response.created_at_ms),
    )


def response(item: entities.Response) -> questions.Response:
    """Convert an item to a response."""
    return questions.Response(
        question_id=item.question_id,
        response_id=item.response_id,
        fingerprint_hash=item.fingerprint_hash,
        answer=item.answer,
        selected_option=item.selected_option,
        confidence=item.confidence,
        response_time_ms=item.response_time_ms,
        created_at_ms=parse_iso(item.created_at),
    )


def reply(item: entities.Response) -> scoring.Reply | None:
    """Return the reply that is stored with a response, or None if no reply is stored."""
    if item.points_earned is None or item.total_points is None:
        return None
    return scoring.Reply(item.points_earned, tuple(item.new_badges or ()), item.total_points)


def stats_item(stats: scoring.Stats, history: AnswerHistory, version: int) -> UserStats:
    """Convert a user's record to an item. `history` contains the data for the abuse heuristics. `version` is the
    version that was read; the write increments it.
    """
    return UserStats(
        fingerprint_hash=stats.fingerprint_hash,
        total_points=stats.total_points,
        total_answers=stats.total_answers,
        streak_days=stats.streak_days,
        streak_last_date=None if stats.streak_last_date is None else stats.streak_last_date.isoformat(),
        badges={badge: iso(at_ms) for badge, at_ms in stats.badges.items()},
        answers_by_category={tag.value: count for tag, count in stats.answers_by_category.items()},
        daily_points={
            day.isoformat(): DayRecord(points=totals.points, answers=totals.answers)
            for day, totals in stats.days.items()
        },
        scored_at=iso(stats.scored_at_ms),
        early_answers=stats.early_answers,
        night_answers=stats.night_answers,
        speedy_answers=stats.speedy_answers,
        confident_answers=stats.confident_answers,
        text_digests=list(history.text_digests),
        minimal_run=history.minimal_run,
        created_at=iso(stats.created_at_ms),
        updated_at=iso(stats.updated_at_ms),
        version=version,
    )


def stats(item: UserStats) -> scoring.Stats:
    """Convert an item to a user's record. Raises UnreadableItemError if the item contains a value that the domain rules
    do not support.
    """
    try:
        return _stats(item)
    except ValueError as error:
        key = {"fingerprint_hash": item.fingerprint_hash}
        raise UnreadableItemError(
            f"cannot read the record of a person: {error}", entity="UserStats", key=key
        ) from error


def _stats(item: UserStats) -> scoring.Stats:
    return scoring.Stats(
        fingerprint_hash=item.fingerprint_hash,
        created_at_ms=parse_iso(item.created_at),
        updated_at_ms=parse_iso(item.updated_at),
        scored_at_ms=parse_iso(item.scored_at),
        version=item.version,
        total_points=item.total_points,
        total_answers=item.total_answers,
        streak_days=item.streak_days,
        streak_last_date=None if item.streak_last_date is None else date.fromisoformat(item.streak_last_date),
        badges={badge: parse_iso(text) for badge, text in item.badges.items()},
        answers_by_category={Audience(tag): count for tag, count in item.answers_by_category.items()},
        days={
            date.fromisoformat(day): scoring.Day(totals.points, totals.answers)
            for day, totals in item.daily_points.items()
        },
        early_answers=item.early_answers,
        night_answers=item.night_answers,
        speedy_answers=item.speedy_answers,
        confident_answers=item.confident_answers,
    )


def answer_history(item: UserStats) -> AnswerHistory:
    """Return the part of a user's record that the abuse heuristics use."""
    return AnswerHistory(tuple(item.text_digests), item.minimal_run)


def row_item(row: boards.Row, period: Period, now_ms: int) -> BoardRow:
    """Convert a user's leaderboard row to an item. The item belongs to the leaderboard of the given kind (daily, weekly
    or all-time) whose period contains `now_ms`.
    """
    board = boards.period_key(period, now_ms)
    return BoardRow(
        board=board,
        person=row.fingerprint_hash,
        leaderboard=boards.partition(board, boards.shard(row.fingerprint_hash)),
        place=row.sort_key,
        total_points=row.points,
        total_answers=row.answers,
        ttl=boards.ttl_s(period, now_ms),
    )


def row(item: BoardRow) -> boards.Row:
    """Convert an item to a leaderboard row."""
    points, reached_at_ms, person = boards.parse_sort_key(item.place)
    return boards.Row(person, points, item.total_answers, reached_at_ms)


def flag_item(flag: abuse.Flag) -> Flag:
    """Convert a flag to an item. The item expires at the same time as the flagged response."""
    return Flag(
        flag_id=flag.flag_id,
        question=flag.question_id,
        response=flag.response_id,
        person=flag.fingerprint_hash,
        reason=flag.reason,
        flagged_at=iso(flag.flagged_at_ms),
        reviewed=flag.reviewed,
        action=flag.action,
        reviewed_at=_iso(flag.reviewed_at_ms),
        ttl=questions.response_ttl_s(flag.flagged_at_ms),
    )


def subscription_item(subscription: notifications.Subscription, version: int) -> entities.Subscription:
    """Convert a subscription to an item. `version` is the version that was read, or 0 for a new subscription."""
    return entities.Subscription(
        subscription_id=subscription.subscription_id,
        fcm_token=subscription.fcm_token,
        token_digest=notifications.token_digest(subscription.fcm_token),
        fingerprint_hash=subscription.fingerprint_hash,
        min_interval_minutes=subscription.min_interval_minutes,
        last_notified_at=_iso(subscription.last_notified_at_ms),
        next_eligible_at=iso(subscription.next_eligible_at_ms),
        created_at=iso(subscription.created_at_ms),
        updated_at=iso(subscription.updated_at_ms),
        active=subscription.active,
        device=subscription.device,
        version=version,
    )


def subscription(item: entities.Subscription) -> notifications.Subscription:
    """Convert an item to a subscription."""
    return notifications.Subscription(
        subscription_id=item.subscription_id,
        fcm_token=item.fcm_token,
        fingerprint_hash=item.fingerprint_hash,
        min_interval_minutes=item.min_interval_minutes,
        last_notified_at_ms=_ms(item.last_notified_at),
        next_eligible_at_ms=parse_iso(item.next_eligible_at),
        active=item.active,
        device=item.device,
        created_at_ms=parse_iso(item.created_at),
        updated_at_ms=parse_iso(item.updated_at),
    )
