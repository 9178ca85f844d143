from mesocosm.agents.instructions import Instructions, Path, closing, reward_text
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.space import Space, parse_space

VOW = {
    "description": "Steer the ferry.",
    "reward": {"type": "scalar", "range": {"low": -1.0, "high": 1.0}, "description": "+1 docked"},
}


def space(**given: object) -> Space:
    parsed = parse_space(given, "space", [])
    assert parsed is not None
    return parsed


DOORS = space(type="discrete", enum_values=["left", "right"])
SEEN = space(type="json", description="{position, heading}")


def instructions(operator: str = "", path: Path = "text") -> Instructions:
    info = BenchmarkInfo("ferry", "Ferry", "1", "0", "environment", (), vow=VOW)
    return Instructions(info, DOORS, SEEN, operator, path)


def test_parts_stand_in_their_order() -> None:
    text = instructions("Be brief.").message("You are a pilot.", "You steer.", {"Recent History": "none"}).text
    parts = ["You are a pilot.", "Be brief.", "You steer.", "## Domain\nSteer the ferry."]
    parts += ["## Observation Space\n{position, heading}", "## Action Space\none of: left, right"]
    parts += ["## Reward\nscalar reward from -1 to 1: +1 docked", "## Recent History\nnone", "Think in a sentence"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "\n\n\n" not in text


def test_equal_messages_are_one_object() -> None:
    made = instructions()
    assert made.message("a") is made.message("a")
    assert made.message("a") is not made.message("b")
    assert made.message("a", "", {"x": "y"}) is made.message("a", "", {"x": "y"})


def test_many_prompts_do_not_pile_up() -> None:
    made = instructions()
    for number in range(1000):
        made.message(str(number))
    assert len(made._known) <= 64


def test_what_is_not_known_has_no_section() -> None:
    info = BenchmarkInfo("bare", "Bare", "1", "0", "python", ())
    text = Instructions(info, None, None, "", "text").message("").text
    assert "##" not in text
    assert "ACTION:" in text


def test_the_reward_is_told_when_there_is_something_to_tell() -> None:
    assert reward_text({"type": "sparse"}) == ""
    assert reward_text({"type": "sparse", "range": {"low": 0}}) == "sparse reward from 0"
    assert reward_text({"type": "binary", "description": "1 on success"}) == "binary reward: 1 on success"
    assert reward_text(None) == ""
    assert reward_text({"range": {"low": "a"}}) == ""


def test_each_space_and_path_has_its_way_of_answering() -> None:
    number = space(type="continuous", bounds={"low": 0, "high": 1})
    ship = space(fields={"engine": {"type": "text"}, "rudder": {"type": "continuous"}})
    assert "Action: " in closing(DOORS, "text")
    assert "from 0 to 1" in closing(number, "text")
    assert "`engine` and `rudder`" in closing(ship, "text")
    assert "valid JSON" in closing(SEEN, "text")
    assert "reaches the environment as it stands" in closing(space(type="text"), "text")
    assert "`reasoning`" in closing(DOORS, "structured")
    assert closing(DOORS, "tools").startswith("Call a tool")
