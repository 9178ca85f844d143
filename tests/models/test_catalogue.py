"""From a name to a model, and what stays on this machine."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from mesocosm.core.failure import Incompatible, UnknownName, UsageError
from mesocosm.core.model import Capabilities, ModelName, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Model
from mesocosm.core.registry import MODELS
from mesocosm.models import litellm
from mesocosm.models.catalogue import address, is_local, open_model
from mesocosm.models.openai import OpenAIModel
from mesocosm.testing.model_server import ModelServer

Opened = Callable[..., Model]


@pytest.mark.parametrize(
    ("name", "local"),
    [
        ("builtin/random", True),
        ("builtin/scripted:x.json", True),
        ("replay/x.jsonl", True),
        ("ollama/llama3.2", True),
        ("ollama/llama3.2@http://127.0.0.1:1", True),
        ("ollama/llama3.2@http://gpu.example:11434", False),
        ("ollama/gpt-oss:120b-cloud", False),
        ("vllm/m", True),
        ("vllm/m@http://10.0.0.5:8000/v1", False),
        ("openai/m@http://127.0.0.1:8001/v1", True),
        ("openai/m@http://localhost:8001/v1", True),
        ("openai/m@http://LOCALHOST.:8001/v1", True),
        ("openai/m@http://app.localhost/v1", True),
        ("openai/m@http://127.8.9.10/v1", True),
        ("openai/m@http://[::1]:8001/v1", True),
        ("openai/m@http://[::ffff:127.0.0.1]:8001/v1", True),
        ("openai/m@http://0.0.0.0:8001/v1", True),
        ("openai/m@http://localhost.example.org/v1", False),
        ("openai/m@http://127.0.0.1.example.org/v1", False),
        ("openai/m@http://127.0.0.1@evil.example/v1", False),
        ("openai/m@http://192.168.1.2/v1", False),
        ("openai/m@http://[oops/v1", False),
        ("openai/gpt-4o", False),
        ("groq/llama", False),
        ("anthropic/claude-sonnet-4-6", False),
        ("anthropic/claude@http://127.0.0.1:1", True),
        ("gemini/gemini-2.5-flash", False),
        ("unheard/of", False),
        ("unheard/of@http://127.0.0.1:1", True),
    ],
)
def test_what_stays_on_this_machine(name: str, local: bool) -> None:
    assert is_local(ModelName.parse(name)) is local


def test_the_environment_can_move_a_provider_here_and_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8001/v1")
    monkeypatch.setenv("OLLAMA_HOST", "gpu.example")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    assert is_local(ModelName.parse("openai/m"))
    assert not is_local(ModelName.parse("ollama/m"))
    assert is_local(ModelName.parse("anthropic/m"))
    monkeypatch.setenv("MISTRAL_API_BASE", "http://127.0.0.1:1")
    assert is_local(ModelName.parse("mistral/m"))
    assert not is_local(ModelName.parse("litellm/mistral/m")), "LiteLLM decides where that goes, not we"


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("openai/m", "https://api.openai.com/v1"),
        ("openai/m@http://127.0.0.1:1/v1/", "http://127.0.0.1:1/v1"),
        ("vllm/m", "http://127.0.0.1:8001/v1"),
        ("groq/m", "https://api.groq.com/openai/v1"),
        ("openrouter/m", "https://openrouter.ai/api/v1"),
        ("cerebras/m", "https://api.cerebras.ai/v1"),
        ("together/m", "https://api.together.xyz/v1"),
        ("ollama/m", "http://localhost:11434"),
        ("anthropic/m", "https://api.anthropic.com"),
        ("anthropic/m@http://127.0.0.1:1", "http://127.0.0.1:1"),
        ("gemini/m", "https://generativelanguage.googleapis.com"),
        ("google/m", "https://generativelanguage.googleapis.com"),
        ("litellm/gemini/m", ""),
    ],
)
def test_providers_have_their_addresses(name: str, url: str) -> None:
    assert address(ModelName.parse(name)) == url


async def test_an_unknown_provider_with_an_address_speaks_openai(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer("hi") as server:
        model = opened(f"my-lab/m@{server.openai_url}")
        assert isinstance(model, OpenAIModel)
        assert (await model.ask(hello)).text == "hi"


async def test_an_unknown_provider_may_get_its_address_and_key_from_the_environment(
    opened: Opened, hello: ModelRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer("hi") as server:
        monkeypatch.setenv("MY_LAB_BASE_URL", server.openai_url)
        monkeypatch.setenv("MY_LAB_API_KEY", "k")
        assert (await opened("my-lab/m").ask(hello)).text == "hi"
    assert server.calls[0].header("authorization") == "Bearer k"


def test_a_provider_that_nobody_knows_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="did you mean 'ollama'\\? A server") as raised:
        open_model(ModelSettings("olama/llama3.2"))
    assert "@http://HOST:PORT/v1" in str(raised.value)


def test_litellm_is_not_imported_for_a_provider_that_it_cannot_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm, "load", lambda: pytest.fail("LiteLLM was imported"))
    assert not litellm.knows("olama")


def test_every_provider_of_litellm_is_known() -> None:
    listed = [str(getattr(provider, "value", provider)) for provider in litellm.load().provider_list]
    assert [provider for provider in listed if not litellm.knows(provider)] == []
    assert "mistral" in listed


def test_without_litellm_the_way_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm, "installed", lambda: False)
    for name, error in (("mistral/mistral-large", UnknownName), ("litellm/gemini/gemini-2.5-flash", Incompatible)):
        with pytest.raises(error, match=r"pip install 'mesocosm\[litellm\]'"):
            open_model(ModelSettings(name))


@pytest.mark.parametrize("url", ["http://host:port", "http://host:99999"])
def test_an_address_that_is_none_is_named(url: str) -> None:
    with pytest.raises(UsageError, match="of openai/m is none"):
        open_model(ModelSettings(f"openai/m@{url}"))


class Parrot:
    """A model of a plug-in."""

    capabilities = Capabilities(local=True)

    async def check(self) -> None: ...

    async def ask(self, request: ModelRequest) -> ModelReply:
        return ModelReply(request.messages[-1].text)

    async def close(self) -> None: ...


async def test_a_registered_provider_is_opened_by_its_name(
    opened: Opened, hello: ModelRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MODELS, "_own", {})

    @MODELS.register("parrot")
    def open_parrot(settings: ModelSettings) -> Model:
        assert settings.name == "parrot/polly"
        return Parrot()

    assert (await opened("parrot/polly").ask(hello)).text == "hello"


def test_opening_models_imports_neither_litellm_nor_its_friends() -> None:
    program = (
        "import sys\n"
        "from mesocosm.core.model import ModelName, ModelSettings\n"
        "from mesocosm.models.catalogue import is_local, open_model\n"
        "for name in ('openai/m', 'anthropic/m', 'ollama/m', 'builtin/random'):\n"
        "    open_model(ModelSettings(name)); is_local(ModelName.parse(name))\n"
        "print(*(heavy for heavy in ('litellm', 'openai', 'httpx', 'aiohttp', 'sqlite3') if heavy in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
