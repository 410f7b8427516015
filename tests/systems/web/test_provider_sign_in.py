"""Sign-in by a local OpenID provider in a browser: the code flow with PKCE, and its refusals."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from playwright.sync_api import expect
from tests.browser import Site, Windows

from keyplan_systems.up.launch import CLIENT_SECRET_VARIABLE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the provider imports a deprecated module
    import oidc_provider_mock

CLIENT = "keyplan-pages"
pytestmark = pytest.mark.filterwarnings("ignore")  # the provider uses deprecated functions


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """Yield the issuer of a running provider with one user, an administrator."""
    claims = {"name": "Dora", "email": "dora@example.org", "email_verified": True, "roles": ["administrators"]}
    users = [oidc_provider_mock.User(sub="dora", claims=claims)]
    with oidc_provider_mock.run_server_in_thread(user_claims=users, require_nonce=True) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture(scope="module")
def site(serve: Callable[..., Site], issuer: str) -> Site:
    keys = httpx.get(f"{issuer}/.well-known/openid-configuration").json()["jwks_uri"]
    port = free_port()
    public_url = f"http://127.0.0.1:{port}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CLIENT_SECRET_VARIABLE, "secret-of-the-client")  # the provider knows no public clients
        return serve(
            "todo", port=port, issuer=issuer, audience="keyplan-api", keys=keys, client_id=CLIENT, public_url=public_url
        )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def test_a_person_signs_in_at_the_provider_and_comes_back(windows: Windows, site: Site) -> None:
    window = windows.open(site.url)
    window.expected += ["jsdelivr", "ERR_", "NOT FOUND"]  # the provider's own page loads a style sheet and an icon
    page = window.goto("/todo/app/?view=all")
    window.check_accessibility()
    page.get_by_role("link", name="Continue").click()
    request = parse_qs(urlsplit(page.url).query)
    assert (request["code_challenge_method"], request["response_type"]) == (["S256"], ["code"])
    assert len(request["code_challenge"][0]) == 43
    page.get_by_role("button", name="dora").or_(page.get_by_text("dora")).first.click()
    expect(page).to_have_url(f"{site.url}/todo/app/?view=all")
    page.get_by_label("Account of Dora").click()
    expect(page.get_by_text("Signed in as Dora")).to_be_visible()
    addresses = " ".join(str(entry) for entry in page.evaluate("performance.getEntries().map((e) => e.name)"))
    assert "eyJ" not in addresses, "tokens never appear in addresses"
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You are signed out.")).to_be_visible()
    assert httpx.get(f"{site.url}/todo/app/").status_code == 303


def test_a_callback_without_its_own_start_is_rejected(site: Site) -> None:
    with httpx.Client(base_url=site.url) as client:
        assert client.get("/sign-in/callback?code=stolen&state=guessed").status_code == 400
        client.get("/sign-in/start")
        assert client.get("/sign-in/callback?code=stolen&state=guessed").status_code == 400


def test_a_rejection_by_the_provider_is_shown(site: Site) -> None:
    with httpx.Client(base_url=site.url) as client:
        state = state_of(client.get("/sign-in/start"))
        text = "Not today <script>alert(1)</script>"
        query = urlencode({"error": "access_denied", "error_description": text, "state": state})
        page = client.get(f"/sign-in/callback?{query}")
        assert (page.status_code, "Not today &lt;script&gt;" in page.text) == (403, True)
        assert "<script>alert" not in page.text


def test_an_unknown_code_is_rejected(site: Site) -> None:
    with httpx.Client(base_url=site.url, timeout=60) as client:
        state = state_of(client.get("/sign-in/start"))
        page = client.get(f"/sign-in/callback?code=unknown&state={state}")
        assert (page.status_code, "The sign-in failed" in page.text) == (403, True)


def test_the_token_of_another_sign_in_is_rejected(site: Site) -> None:
    """The provider puts the nonce of the request that got the code into the ID token."""
    with httpx.Client(base_url=site.url, timeout=60) as thief, httpx.Client(base_url=site.url, timeout=60) as victim:
        started = thief.get("/sign-in/start")
        code = code_from(started.headers["location"])
        state = state_of(victim.get("/sign-in/start"))
        page = victim.get(f"/sign-in/callback?code={code}&state={state}")
        assert page.status_code == 403
        assert victim.get("/todo/app/").status_code == 303


def test_an_unreachable_provider_is_reported(serve: Callable[..., Site], issuer: str, site: Site) -> None:
    keys = httpx.get(f"{issuer}/.well-known/openid-configuration").json()["jwks_uri"]
    nobody = f"http://127.0.0.1:{free_port()}"
    lonely = serve("todo", issuer=nobody, audience="keyplan-api", keys=keys, client_id=CLIENT)
    page = httpx.get(f"{lonely.url}/sign-in/start")
    assert (page.status_code, "cannot be reached" in page.text) == (503, True)


def test_a_server_without_a_client_shows_an_error(serve: Callable[..., Site], issuer: str) -> None:
    keys = httpx.get(f"{issuer}/.well-known/openid-configuration").json()["jwks_uri"]
    server = serve("todo", issuer=issuer, audience="keyplan-api", keys=keys)
    page = httpx.get(f"{server.url}/sign-in")
    assert (page.status_code, "--client-id" in page.text) == (403, True)


def test_sample_people_cannot_sign_in_beyond_loopback(serve: Callable[..., Site]) -> None:
    server = serve("todo", host="0.0.0.0")
    page = httpx.get(f"{server.url}/sign-in")
    assert (page.status_code, "127.0.0.1" in page.text) == (403, True)


def state_of(redirect: httpx.Response) -> str:
    return parse_qs(urlsplit(redirect.headers["location"]).query)["state"][0]


def code_from(authorization: str) -> str:
    """Authorize as the provider's user, and return the code that it sends back."""
    response = httpx.post(authorization, data={"sub": "dora"})
    return parse_qs(urlsplit(response.headers["location"]).query)["code"][0]
