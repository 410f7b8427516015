"""Server-rendered web pages, with the templates, styles, scripts and charts that all keyplan pages share.

    pages = Pages("keyplan_systems.todo", "To-do", nav=(Link("Tasks", "app/"), Link("Dashboard", "app/dashboard")))
    return pages.render(request, "tasks.html.j2", tasks=tasks)

Pages work offline and load files only from their own server. The Content-Security-Policy blocks inline scripts, inline
styles and files from other hosts. Templates escape all output. Pages also work without scripts, so forms are plain HTML
forms.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, unquote

import jinja2
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope

from keyplan.pages import charts

ASSETS: Final = "/assets"
"""The URL path, relative to the application's root, of the files that all pages share."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""The Content-Security-Policy header of every page."""
FLASH: Final = "keyplan_flash"
"""The name of the cookie that contains a message for the next page, such as "Task deleted"."""
_FLASH_CHARACTERS: Final = 400
_YEAR_CACHE_CONTROL: Final = "public, max-age=31536000, immutable"
SCRIPT_TEXTS: Final = (
    "The server returned status {status}.",
    "The server cannot be reached. Try again.",
)
"""The English texts that keyplan.js shows. A Wording can translate them."""


@dataclass(frozen=True)
class Link:
    """A navigation link. `path` is relative to the application's root."""

    text: str
    path: str
    icon: str = ""
    """The name of the link's icon, which refers to a symbol in templates/parts.html.j2."""
    role: str = ""
    """The role that users need to see the link, or an empty string if all users can see it."""
    is_exact: bool = False
    """True if the link is highlighted only on the page with the link's path, and not on pages below this path."""


@dataclass(frozen=True)
class Viewer:
    """The user who views a page."""

    name: str = ""
    """The user's display name, or an empty string if the user is not signed in."""
    csrf: Callable[[], str] = lambda: ""
    """A function that returns the CSRF token to include in forms. It returns an empty string if the user has no
    session.
    """
    roles: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Wording:
    """The language of a page, and the translations of texts in the shared templates and the navigation."""

    language: str = "en"
    """The language tag for the HTML attribute `lang`."""
    words: Mapping[str, str] = field(default_factory=dict)
    """The translation of each English text, as in {"Sign out": "Abmelden"}. Texts without a translation are shown in
    English.
    """


class Pages:
    """The web pages of one application: a package with `templates/` and `static/`, a title, and navigation links."""

    def __init__(
        self,
        package: str,
        title: str,
        *,
        nav: Sequence[Link] = (),
        accent: str = "indigo",
        viewer: Callable[[Request], Viewer] = lambda _request: Viewer(),
        static: str = "app/static",
        scripts: Sequence[str] = (),
        wording: Callable[[Request], Wording] = lambda _request: Wording(),
    ) -> None:
        """Load the templates of `package`.

        `accent` is a color in keyplan.css: indigo, teal, rose, amber or green. `static` is the path of the mounted
        `assets`, relative to the application's root. `scripts` are the names of script files in the package's `static`
        folder that every page loads. `viewer` returns the user who sends a request, and `wording` returns the language
        for a request.
        """
        self.title, self.nav, self.accent = title, tuple(nav), accent
        self._package, self._viewer, self._static, self._scripts = package, viewer, static, tuple(scripts)
        self._environment, self._wording = _environment(package), wording

    def assets(self) -> ASGIApp:
        """Return the application that serves the files in the package's `static` folder."""
        return assets_of(self._package)

    def render(
        self,
        request: Request,
        template: str,
        status: int = 200,
        /,
        headers: Mapping[str, str] | None = None,
        **context: Any,
    ) -> HTMLResponse:
        """Render a template as a page. The template can use the names in `context`.

        It can also use `page`, which provides the title, the navigation, the viewer and file URLs.
        """
        page = PageContext(self, request, self._viewer(request))
        html = self._environment.get_template(template).render(page=page, **context)
        response = HTMLResponse(html, status, {"Content-Security-Policy": POLICY, **(headers or {})})
        if page.flash:
            response.delete_cookie(FLASH, path="/")
        return response

    def error(
        self, request: Request, status: int, message: str, headers: Mapping[str, str] | None = None
    ) -> HTMLResponse:
        """Return an error page. It uses the package's error.html.j2, if the package has one.

        The message is translated if the page's Wording contains a translation. Only the header Retry-After is copied
        from `headers` to the response.
        """
        message = self._wording(request).words.get(message, message)
        passed_headers = {name: value for name, value in (headers or {}).items() if name.lower() == "retry-after"}
        has_own_template = files(self._package).joinpath("templates", "error.html.j2").is_file()
        template = "error.html.j2" if has_own_template and self._package != "keyplan.pages" else "keyplan/error.html.j2"
        return self.render(request, template, status, headers=passed_headers, status=status, message=message)


class PageContext:
    """The properties of a page, which templates access as `page`."""

    def __init__(self, pages: Pages, request: Request, viewer: Viewer) -> None:
        self.accent, self.viewer = pages.accent, viewer
        wording = pages._wording(request)
        self.language, self._words = wording.language, wording.words
        self.title = self.word(pages.title)
        self.url = request.url
        self.root = root_of(request)
        """The root path of the server, without a trailing slash. The sign-in page is at /sign-in below it."""
        self.here = str(request.scope.get("root_path", ""))
        """The root path of the application, without a trailing slash."""
        self.path = request.url.path
        self.flash = self.word(unquote(request.cookies.get(FLASH, ""))[:_FLASH_CHARACTERS])
        self._pages = pages

    @property
    def nav(self) -> list[dict[str, Any]]:
        """The navigation links that the user's roles permit, as dicts for the template.

        Of the links whose paths match the URL, the one with the longest path is marked `current`.
        """
        links = [link for link in self._pages.nav if not link.role or link.role in self.viewer.roles]
        paths = {link.path: f"{self.here}/{link.path}" for link in links}
        matching_paths = (
            paths[link.path]
            for link in links
            if self.path == paths[link.path] or (not link.is_exact and self.path.startswith(paths[link.path]))
        )
        current = max(matching_paths, key=len, default="")
        return [
            {
                "text": self.word(link.text),
                "icon": link.icon,
                "href": paths[link.path],
                "current": paths[link.path] == current,
            }
            for link in links
        ]

    def word(self, text: str) -> str:
        """Return the translation of an English text, or the text itself if it has no translation."""
        return self._words.get(text, text)

    @property
    def script_words(self) -> str:
        """A JSON object with the translations of SCRIPT_TEXTS, as a string.

        The string is empty if none of these texts has a translation.
        """
        words = {text: self._words[text] for text in SCRIPT_TEXTS if text in self._words}
        return json.dumps(words, ensure_ascii=False) if words else ""

    @property
    def scripts(self) -> list[str]:
        """The URLs of the scripts that every page of the application loads."""
        return [self.static(name) for name in self._pages._scripts]

    def shared(self, name: str) -> str:
        """Return the URL of a file in the folder that all pages share."""
        return f"{self.root}{ASSETS}/{name}?v={_version('keyplan.pages', name)}"

    def static(self, name: str) -> str:
        """Return the URL of a file in the `static` folder of the application's package."""
        return f"{self.here}/{self._pages._static}/{name}?v={_version(self._pages._package, name)}"


class Assets(StaticFiles):
    """An application that serves the `static` folder of a package.

    Response headers make clients cache versioned URLs for a year, and revalidate other files on each use.
    """

    def __init__(self, package: str) -> None:
        super().__init__(directory=str(files(package).joinpath("static")))

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, or a response with status 304 if the client's cached copy is current."""
        response = await super().get_response(path, scope)
        has_version = scope.get("query_string", b"").startswith(b"v=")
        response.headers["Cache-Control"] = _YEAR_CACHE_CONTROL if has_version else "no-cache"
        return response


def root_of(connection: HTTPConnection) -> str:
    """Return the root path of the outermost application on the server, without a trailing slash."""
    return str(connection.scope.get("app_root_path", connection.scope.get("root_path", "")))


def redirect(url: str, flash: str = "") -> RedirectResponse:
    """Return a 303 redirect as the response to a submitted form. The next page shows the message `flash` once."""
    response = RedirectResponse(url, 303)
    if flash:
        response.set_cookie(
            FLASH, quote(flash[:_FLASH_CHARACTERS]), max_age=60, httponly=True, samesite="lax", path="/"
        )
    return response


def assets_of(package: str) -> ASGIApp:
    """Return an application that serves the `static` folder of a package and compresses its responses."""
    return GZipMiddleware(Assets(package), minimum_size=500)


def with_policy(response: Response) -> Response:
    """Add the Content-Security-Policy header to a response that is not rendered from a template."""
    response.headers["Content-Security-Policy"] = POLICY
    return response


@cache
def _version(package: str, name: str) -> str:
    return hashlib.sha256(files(package).joinpath("static", name).read_bytes()).hexdigest()[:12]


@cache
def _environment(package: str) -> jinja2.Environment:
    shared_loader = jinja2.PrefixLoader({"keyplan": jinja2.PackageLoader("keyplan.pages")})
    package_loaders = [] if package == "keyplan.pages" else [jinja2.PackageLoader(package)]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([shared_loader, *package_loaders]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(FILTERS)
    environment.globals["charts"] = charts
    return environment


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _plural(count: int, singular: str, plural: str = "") -> str:
    return f"{_number(count)} {singular if count == 1 else plural or singular + 's'}"


def _timestamp(value: datetime) -> str:
    return value.isoformat(timespec="seconds")


FILTERS: Final = MappingProxyType({"number": _number, "plural": _plural, "timestamp": _timestamp})
"""The Jinja filters that are available in all templates."""
