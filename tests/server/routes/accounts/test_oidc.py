"""Signing in with another provider, which here is a server on loopback."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "mesocosm-tests", "shh: & %"


class Provider:
    """A provider that signs anybody in as `person`. `claims` replaces claims of the identity, None takes one out."""

    def __init__(self, key: rsa.RSAPrivateKey) -> None:
        self.issuer = ""
        self.key = self.published = key
        self.person = {"sub": "s-1", "preferred_username": "grace"}
        self.claims: dict[str, Any] = {}
        self.algorithm, self.secret_way = "RS256", "client_secret_basic"
        self.granted: dict[str, dict[str, str]] = {}
        self.key_id = "k1"

    def grant(self, url: str) -> str:
        """Sign somebody in at the address where a browser was sent, and return the code."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert query["response_type"] == "code"
        assert query["client_id"] == CLIENT
        assert query["code_challenge_method"] == "S256"
        assert "openid" in query["scope"].split()
        code = secrets.token_urlsafe(8)
        self.granted[code] = query
        return code

    def document(self, path: str) -> dict[str, Any]:
        if path == "/.well-known/openid-configuration":
            return {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "token_endpoint_auth_methods_supported": [self.secret_way],
            }
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.published.public_key()))
        return {"keys": [{**public, "kid": self.key_id, "use": "sig", "alg": "RS256"}]}

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """Exchange a code, as strictly as a provider should."""
        asked = self.granted.pop(form.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if self.secret_way == "client_secret_basic":
            pair = base64.b64decode(authorization.removeprefix("Basic ")).decode()
            known = pair == f"{CLIENT}:shh%3A%20%26%20%25"
        else:
            known = form.get("client_secret") == SECRET
        right = asked is not None and challenge.decode().rstrip("=") == asked["code_challenge"]
        if not right or not known or asked is None or form["redirect_uri"] != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 60, "nonce": asked["nonce"]}
        claims = {name: value for name, value in {**claims, **self.person, **self.claims}.items() if value is not None}
        key: Any = {"RS256": self.key, "HS256": "x" * 40, "none": None}[self.algorithm]
        return 200, {"id_token": jwt.encode(claims, key, self.algorithm, headers={"kid": self.key_id})}


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    """Made once: it takes longer than everything else."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def provider(key: rsa.RSAPrivateKey) -> Iterator[Provider]:
    served = Provider(key)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, served.document(urlsplit(self.path).path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self._answer(*served.token(form, self.headers.get("Authorization", "")))

        def _answer(self, status: int, document: dict[str, Any]) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_given: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield served
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def hosted(open_hosted: Any, provider: Provider) -> Any:
    return open_hosted(oidc_issuer=provider.issuer, oidc_client_id=CLIENT, oidc_client_secret=SECRET, oidc_name="Acme")


def _begin(browser: Any, provider: Provider, page: str = "/teams") -> dict[str, str]:
    """Return what the provider sends a browser back with."""
    answer = browser.get("/api/auth/oidc/start", params={"next": page})
    assert answer.status_code == 303
    url = answer.headers["Location"]
    assert url.startswith(f"{provider.issuer}/authorize?")
    return {"state": parse_qs(urlsplit(url).query)["state"][0], "code": provider.grant(url)}


def _end(browser: Any, given: dict[str, str], **more: Any) -> Any:
    return browser.get("/api/auth/oidc/callback", params=given, **more)


def _sign_in(browse: Any, provider: Provider) -> Any:
    browser = browse()
    return browser, _end(browser, _begin(browser, provider))


def test_somebody_new_becomes_a_member_and_goes_on_where_they_were(browse: Any, provider: Provider) -> None:
    browser, answer = _sign_in(browse, provider)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/teams")
    me = browser.get("/api/me").json()
    assert (me["type"], me["username"], me["role"], me["way"]) == ("member", "grace", "member", "web")


def test_who_comes_again_is_the_same_member(hosted: Any, browse: Any, provider: Provider) -> None:
    first = _sign_in(browse, provider)[0].get("/api/me").json()["user_id"]
    provider.person["preferred_username"] = "another"
    assert _sign_in(browse, provider)[0].get("/api/me").json()["user_id"] == first
    assert hosted.service.store.users.count() == 1


def test_a_provider_that_wants_the_secret_in_the_form_gets_it_there(browse: Any, provider: Provider) -> None:
    provider.secret_way = "client_secret_post"
    assert _sign_in(browse, provider)[1].status_code == 303


def test_nobody_becomes_a_member_who_is_there_already_by_their_name(
    hosted: Any, browse: Any, provider: Provider
) -> None:
    ada = hosted.admin("ada")
    provider.person["preferred_username"] = "ADA"
    me = _sign_in(browse, provider)[0].get("/api/me").json()
    assert (me["username"], me["role"]) == ("ADA-2", "member")
    assert me["user_id"] != ada.user_id


def test_a_sign_in_ends_only_in_the_browser_that_began_it(browse: Any, provider: Provider) -> None:
    given = _begin(browse(), provider)
    victim = browse()
    assert _end(victim, given).status_code == 400
    _begin(victim, provider)
    assert _end(victim, given).status_code == 400
    assert victim.get("/api/me").json()["type"] == "anonymous"


def test_a_changed_answer_of_the_provider_is_refused(browse: Any, provider: Provider) -> None:
    browser = browse()
    given = _begin(browser, provider)
    changes = ({"state": "other"}, {"state": ""}, {"code": ""}, {"state": "é"})
    assert [_end(browser, {**given, **changed}).status_code for changed in changes] == [400] * 4


def test_a_code_works_once(browse: Any, provider: Provider) -> None:
    browser = browse()
    given = _begin(browser, provider)
    kept = dict(browser.cookies)
    assert _end(browser, given).status_code == 303
    assert "mesocosm_oidc" not in browser.cookies
    assert _end(browse(cookies=kept), given).status_code == 401


WRONG_CLAIMS: list[dict[str, Any]] = [
    {"aud": "another-client"},
    {"aud": [CLIENT, "another-client"]},
    {"aud": [CLIENT, "another-client"], "azp": "another-client"},
    {"aud": None},
    {"iss": "https://elsewhere.example"},
    {"nonce": "another"},
    {"nonce": None},
    {"exp": 1},
    {"exp": None},
    {"sub": None},
]


def test_an_identity_that_is_not_for_this_sign_in_is_refused(hosted: Any, browse: Any, provider: Provider) -> None:
    browser = browse()
    for claims in WRONG_CLAIMS:
        provider.claims = claims
        answer = _end(browser, _begin(browser, provider))
        assert (claims, answer.status_code) == (claims, 401)
    assert browser.get("/api/me").json()["type"] == "anonymous"
    assert hosted.service.store.users.count() == 0


def test_an_identity_for_several_clients_is_taken_when_it_was_issued_to_us(browse: Any, provider: Provider) -> None:
    provider.claims = {"aud": [CLIENT, "another-client"], "azp": CLIENT}
    assert _sign_in(browse, provider)[1].status_code == 303


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_an_identity_without_a_signature_of_the_provider_is_refused(
    browse: Any, provider: Provider, algorithm: str
) -> None:
    provider.algorithm = algorithm
    assert _sign_in(browse, provider)[1].status_code == 401


def test_an_identity_signed_with_another_key_is_refused(browse: Any, provider: Provider) -> None:
    provider.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    assert _sign_in(browse, provider)[1].status_code == 401


def test_a_key_that_the_provider_has_just_made_is_found(
    hosted: Any, browse: Any, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    _sign_in(browse, provider)
    provider.key_id = "k2"
    monkeypatch.setitem(hosted.service.oidc._provider._read_at, "keys", time.monotonic() - 60)
    assert _sign_in(browse, provider)[1].status_code == 303


def test_a_disabled_member_does_not_get_in(hosted: Any, browse: Any, provider: Provider) -> None:
    user_id = _sign_in(browse, provider)[0].get("/api/me").json()["user_id"]
    hosted.service.store.users.set_disabled(user_id, disabled=True)
    browser, answer = _sign_in(browse, provider)
    assert answer.status_code == 403
    assert browser.get("/api/me").json()["type"] == "anonymous"


def test_a_person_who_was_not_let_in_reads_why_on_the_sign_in_page(browse: Any, provider: Provider) -> None:
    browser = browse()
    given = {"state": _begin(browser, provider)["state"], "error": "access_denied"}
    answer = _end(browser, given, headers={"Accept": "text/html,*/*"})
    assert answer.status_code == 303
    place = urlsplit(answer.headers["Location"])
    assert (place.netloc, place.path) == ("", "/sign-in")
    assert "access_denied" in parse_qs(place.query)["problem"][0]


def test_nobody_is_sent_to_another_site(browse: Any, provider: Provider) -> None:
    browser = browse()
    for page in ("https://evil.example", "//evil.example", "/\\evil.example", "x", "/a\r\nb", ""):
        assert _end(browser, _begin(browser, provider, page)).headers["Location"] == "/"


def test_behind_a_prefix_everything_has_it(open_hosted: Any, make_browser: Any, provider: Provider) -> None:
    settings = {"oidc_issuer": provider.issuer, "oidc_client_id": CLIENT, "oidc_client_secret": SECRET}
    hosted = open_hosted(public_url="https://mc.example/bench", **settings)
    answer = make_browser(hosted).get("/api/auth/oidc/start")
    query = parse_qs(urlsplit(answer.headers["Location"]).query)
    assert query["redirect_uri"] == ["https://mc.example/bench/api/auth/oidc/callback"]
    assert "Path=/bench/api/auth/oidc" in answer.headers["set-cookie"]
    assert "Secure" in answer.headers["set-cookie"]


def test_a_provider_that_is_not_there_is_said_to_be_unusable(open_hosted: Any, make_browser: Any) -> None:
    hosted = open_hosted(oidc_issuer="http://127.0.0.1:9", oidc_client_id="x")
    answer = make_browser(hosted).get("/api/auth/oidc/start")
    assert answer.status_code == 503
    assert "127.0.0.1:9" in answer.json()["detail"]


def test_a_provider_that_is_another_is_not_used(browse: Any, provider: Provider) -> None:
    provider.issuer = "https://elsewhere.example"
    assert browse().get("/api/auth/oidc/start").status_code == 503


def test_without_a_provider_there_is_no_such_way(open_hosted: Any) -> None:
    hosted = open_hosted()
    assert hosted.anonymous.get("/api/auth/oidc/start").status_code == 404
    assert hosted.anonymous.get("/api/auth/oidc/callback").status_code == 404
    assert hosted.anonymous.get("/api/auth/ways").json()["oidc"] is None


def test_the_way_is_told_by_its_name(hosted: Any) -> None:
    assert hosted.anonymous.get("/api/auth/ways").json()["oidc"] == "Acme"


def test_who_signs_in_elsewhere_has_no_password_here(hosted: Any, browse: Any, provider: Provider) -> None:
    browser, _ = _sign_in(browse, provider)
    change = browser.post("/api/auth/password", {"old": "", "new": "another long password"})
    assert change.status_code == 409
    login = browse().post("/api/auth/login", {"username": "grace", "password": ""})
    assert login.status_code == 401
