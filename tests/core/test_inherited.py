"""Which variables programs of others see."""

import pytest

from mesocosm.core.inherited import inherited


def test_certificates_proxies_and_package_sources_reach_a_program() -> None:
    given = {
        "SSL_CERT_FILE": "/certs.pem",
        "HTTPS_PROXY": "http://proxy:3128",
        "UV_INDEX_URL": "https://index.example/simple",
        "PIP_INDEX_URL": "https://index.example/simple",
    }
    assert inherited(given) == given


@pytest.mark.parametrize(
    "given",
    [
        {"HTTPS_PROXY": "http://me:word@proxy:3128"},
        {"UV_INDEX_URL": "https://token@index.example/simple"},
        {"UV_PUBLISH_TOKEN": "abc"},
        {"PIP_INDEX_URL": "https://me:word@index.example/simple"},
        {"OPENAI_API_KEY": "sk-1"},
        {"MY_SETTING": "1"},
    ],
)
def test_credentials_and_other_variables_do_not(given: dict[str, str]) -> None:
    assert inherited(given) == {}
