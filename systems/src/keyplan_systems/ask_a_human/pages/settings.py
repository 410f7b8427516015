"""Pages with a user's statistics and badges, and a page for the theme and notification settings."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from keyplan.pages import Pages
from keyplan_systems.ask_a_human import serializers
from keyplan_systems.ask_a_human.devices import Identity
from keyplan_systems.ask_a_human.domain import badges, limits, notifications, requests, scoring
from keyplan_systems.ask_a_human.domain.requests import Audience, SubscribeRequest, SubscriptionChange
from keyplan_systems.ask_a_human.domain.timestamps import as_datetime
from keyplan_systems.ask_a_human.pages.visitors import Visitors, zone_of
from keyplan_systems.ask_a_human.service import Service
from keyplan_systems.ask_a_human.web_push import PushTarget
from keyplan_systems.web.authentication import unauthorized
from keyplan_systems.web.browsing import CurrentSession
from keyplan_systems.web.sessions import CSRF_HEADER

INTERVALS = ((15, "Up to every 15 minutes"), (30, "Up to every 30 minutes"), (60, "Once an hour at most"),
             (240, "Every 4 hours at most"), (1440, "Once a day at most"))  # fmt: skip
_CONDITIONS = {
    badges.ANSWERS: "{threshold} answers",
    badges.STREAK: "{threshold} days in a row",
    badges.EARLY: "an answer within 2 minutes of a question",
    badges.NIGHT: "{threshold} answers between midnight and 6 in the morning",
    badges.SPEEDY: "{threshold} answers in less than 30 seconds each",
    badges.CONFIDENT: "{threshold} answers with a confidence of 5",
    **{badges.category(tag): f"{{threshold}} answers about {tag.value} questions" for tag in Audience},
}


def add_routes(router: APIRouter, pages: Pages, service: Service, visitors: Visitors, push_key: str | None) -> None:
    """Add the routes of the pages for statistics and settings to the router."""

    @router.get("/you")
    def you(request: Request) -> Response:
        person = visitors.identify_reader(request)
        record = None if person is None else service.leaderboards.record(person.person, zone_of(request))
        stats = None if record is None else record.stats
        now_ms = service.base.now_ms
        return pages.render(
            request,
            "you.html.j2",
            record=record,
            stats=stats,
            today=0 if stats is None else scoring.day_totals(stats, now_ms).points,
            badges=_badges(stats),
            categories=[]
            if stats is None
            else [(tag.value, count) for tag, count in stats.answers_by_category.items()],
            intervals=INTERVALS,
            push_key=push_key,
        )

    _add_notifications(router, service, visitors)


def _add_notifications(router: APIRouter, service: Service, visitors: Visitors) -> None:
    """Add the routes for push subscriptions, which a script on the settings page calls. The script sends the session's
    CSRF token in a header.
    """

    @router.post("/notifications")
    def subscribe(request: Request, session: CurrentSession, body: dict[str, Any]) -> Response:
        session.check_csrf(request.headers.get(CSRF_HEADER))
        service.base.count(limits.SUBSCRIPTIONS, visitors.address(request))
        target = PushTarget.parse(body.get("subscription"))
        person, token = visitors.identify(request), None
        if person is None:
            token = visitors.register(request)
            person = service.devices.identify(token)
            assert person is not None, "the token is new"
        fields = {"fcm_token": target.text, "min_interval_minutes": body.get("min_interval_minutes", 30)}
        subscription = service.subscriptions.subscribe(person, requests.parse(SubscribeRequest, fields))
        response = JSONResponse(_subscription_json(subscription), 201)
        if token is not None:
            visitors.store_token(request, response, token)
        return response

    @router.put("/notifications")
    def renew(request: Request, session: CurrentSession, body: dict[str, Any]) -> Response:
        """Replace the browser's old push subscription with a new one. The notification interval is unchanged."""
        person = _owner(request, session)
        old, new = PushTarget.parse(body.get("old")), PushTarget.parse(body.get("subscription"))
        changes = requests.parse(SubscriptionChange, {"fcm_token": new.text})
        subscription_id = notifications.subscription_id(old.text)
        return JSONResponse(_subscription_json(service.subscriptions.change(person, subscription_id, changes)))

    @router.put("/notifications/{subscription_id}")
    def change(request: Request, session: CurrentSession, subscription_id: str, body: dict[str, Any]) -> Response:
        person = _owner(request, session)
        changes = requests.parse(SubscriptionChange, {"min_interval_minutes": body.get("min_interval_minutes")})
        return JSONResponse(_subscription_json(service.subscriptions.change(person, subscription_id, changes)))

    @router.delete("/notifications/{subscription_id}")
    def end(request: Request, session: CurrentSession, subscription_id: str) -> Response:
        service.subscriptions.deactivate(_owner(request, session), subscription_id)
        return Response(status_code=204)

    def _owner(request: Request, session: CurrentSession) -> Identity:
        session.check_csrf(request.headers.get(CSRF_HEADER))
        person = visitors.identify(request)
        if person is None:
            raise unauthorized("This browser is not registered.")
        return person


def _subscription_json(subscription: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(serializers.subscription_view(subscription).model_dump_json())
    return content


def _badges(stats: scoring.Stats | None) -> list[dict[str, Any]]:
    """Return all badges, earned badges first."""
    earned_at_ms = {} if stats is None else stats.badges
    entries = [
        {
            "name": badge.name,
            "condition": "your first answer"
            if (badge.counter, badge.threshold) == (badges.ANSWERS, 1)
            else _CONDITIONS[badge.counter].format(threshold=badge.threshold),
            "earned_at": as_datetime(earned_at_ms[badge.id]) if badge.id in earned_at_ms else None,
        }
        for badge in badges.TABLE
    ]
    return sorted(entries, key=lambda badge: badge["earned_at"] is None)
