"""Pages for a user's profile (name, telephone number, email address, received emails), and the language switch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from keyplan.pages import redirect
from keyplan_systems.venue_booking.api.context import person_of
from keyplan_systems.venue_booking.domain.refusals import RefusalError
from keyplan_systems.venue_booking.domain.requests import Language
from keyplan_systems.venue_booking.pages.site import PER_PAGE, VenueSite, actor_of, language_from, url
from keyplan_systems.venue_booking.pages.wording import COOKIE
from keyplan_systems.web.browsing import Form, Person
from keyplan_systems.web.sign_in import local_path
from keyplan_systems.web.tokens import Principal

_YEAR_S: Final = 365 * 24 * 3600


def add_language(router: APIRouter, _site: VenueSite) -> None:
    """Add the route of the language switch to the router."""

    @router.post("/language")
    def language(request: Request, form: Form) -> Response:
        path = local_path(form.get("next"))
        response = RedirectResponse(path if path != "/" else url(request, ""), 303)
        if form.get("language") in list(Language):
            response.set_cookie(
                COOKIE,
                form["language"],
                max_age=_YEAR_S,
                path="/",  # the sign-in page has the same language
                httponly=True,
                samesite="lax",
            )
        return response


def add_profile(router: APIRouter, site: VenueSite) -> None:
    """Add the profile pages to the router."""
    users = site.service.users

    @router.get("/profile")
    def profile(request: Request, person: Person) -> Response:
        return _profile_page(site, request, person)

    @router.post("/profile")
    def save(request: Request, person: Person, form: Form) -> Response:
        values: dict[str, Any] = {"name": form.get("name", ""), "language": language_from(form.get("language", ""))}
        if form.get("phone"):
            values["phone"] = form["phone"]
        try:
            users.change(person_of(person), values)
        except RefusalError as error:
            return _profile_page(site, request, person, values=form, error=error)
        return redirect(url(request, "profile"), site.phrases(request)("profile.saved"))

    @router.post("/profile/email")
    def claim(request: Request, person: Person, form: Form) -> Response:
        try:
            email_claim = users.request_code(person_of(person), form.get("email", ""))
        except RefusalError as error:
            return _profile_page(site, request, person, values=form, error=error, field="email")
        return redirect(url(request, "profile"), site.phrases(request)("profile.claimed", email=email_claim.email))

    @router.post("/profile/code")
    def verify(request: Request, person: Person, form: Form) -> Response:
        try:
            user = users.verify(person_of(person), form.get("claim", ""), form.get("code", ""))
        except RefusalError as error:
            return _profile_page(site, request, person, values=form, error=error, field="code")
        return redirect(url(request, "profile"), site.phrases(request)("profile.verified", email=user.email))


def _profile_page(
    site: VenueSite,
    request: Request,
    principal: Principal,
    *,
    values: Mapping[str, str] | None = None,
    error: RefusalError | None = None,
    field: str = "",
) -> Response:
    """Return the profile page. A user without a verified email address does not have a profile yet, and can claim an
    address on the page.
    """
    users, t, person = site.service.users, site.phrases(request), person_of(principal)
    user = users.find(principal.subject)
    if user is None and person.verified_address() is not None:
        user = users.get_or_create(person)
    errors: dict[str, str] = {}
    message = ""
    if error is not None:
        errors = t.field_errors(error) or ({field: t.refusal(error)} if field else {})
        message = "" if field and errors else t("profile.failed") if errors else t.refusal(error)
    notices = users.notifications(person, PER_PAGE, request.query_params.get("after"))
    status = 200 if error is None else 422
    context = {
        "user": user,
        "actor": actor_of(principal),
        "codes": users.email_claims(person.actor),
        "notices": notices,
    }
    return site.render(
        request, "profile.html.j2", status, **context, values=values or {}, errors=errors, message=message
    )
