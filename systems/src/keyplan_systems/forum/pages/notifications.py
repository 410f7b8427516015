"""Pages that list notifications, mark them as read, delete them, and show the number of unread notifications."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.responses import JSONResponse, Response

from keyplan_systems.forum.followers import notification_id
from keyplan_systems.forum.pages.base import CurrentReader, router, time_of, unread_text
from keyplan_systems.forum.relational.people import names_of, titles_of
from keyplan_systems.web.browsing import Form
from keyplan_systems.web.problems import Problem

_LIST = "app/notifications"


@router.get("/notifications")
def notifications(reader: CurrentReader, cursor: Annotated[str | None, Query(alias="next")] = None) -> Response:
    """Show the user's notifications, newest first."""
    page = reader.service.followers.notifications(reader.user_id, 20, cursor)
    names = names_of(
        reader.service.database,
        {notification.author_id for notification in page} | {notification.participant_id for notification in page},
    )
    titles = titles_of(reader.service.database, {notification.item_id for notification in page})
    return reader.show(
        "notifications.html.j2",
        entries=[(notification_id(notification), notification, time_of(notification.at_ms)) for notification in page],
        names=names,
        titles=titles,
        next=page.cursor,
    )


@router.get("/unread")
def unread(reader: CurrentReader) -> Response:
    """Return the badge with the number of unread notifications."""
    return JSONResponse({"unread": unread_text(len(reader.service.followers.unread(reader.user_id)))})


@router.post("/notifications")
def change_all(reader: CurrentReader, form: Form) -> Response:
    """Mark all notifications as read, or delete all notifications."""
    match form.get("action"):
        case "read":
            reader.service.followers.mark_all_read(reader.service.followers.unread(reader.user_id))
            return reader.respond(_LIST, "All notifications are marked as read.")
        case "delete":
            reader.service.followers.drop_all(reader.user_id)
            return reader.respond(_LIST, "All notifications are deleted.")
        case _:
            raise Problem(400, "Choose what to do with the notifications.")


@router.post("/notifications/{notification_id}")
def change(notification_id: str, reader: CurrentReader, form: Form) -> Response:
    """Mark a notification as read or unread, or delete it."""
    match form.get("action"):
        case "read" | "unread" as state:
            reader.service.followers.set_read(reader.user_id, notification_id, is_read=state == "read")
        case "delete":
            reader.service.followers.drop(reader.user_id, notification_id)
        case _:
            raise Problem(400, "Choose what to do with the notification.")
    return reader.respond(_LIST)
