"""Questions generated from a seed, each with a single right answer.

An answer must repeat the reference of its question, so a constant answer has the right form for no question.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from mesocosm.benchmarks.builtin.eliza_format.record import FormatRecord

NAMES = ("Ada", "Bram", "Chidi", "Dora", "Emil", "Farah", "Goran", "Hana", "Ivo", "Jun", "Kemi", "Luca", "Mira", "Noor")
AGENTS = ("Atlas", "Beacon", "Cobalt", "Dune", "Ember", "Flint")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
TOPICS = (
    "the budget",
    "the new garden",
    "the train strike",
    "the new film",
    "the office move",
    "the chess club",
)
QUESTIONS = (
    "what time does the meeting start",
    "can you summarise {topic} for us",
    "do you know who is in charge of {topic}",
    "could you remind me about {topic} tomorrow",
    "is there anything new on {topic}",
)
CHATTER = (
    "I am still thinking about {topic}.",
    "Did anybody else hear about {topic}?",
    "We should talk about {topic} some day.",
    "My notes on {topic} are in the folder.",
    "Coffee is ready, by the way.",
    "{agent} wrote something about {topic} yesterday.",
)
TO_AGENT = (
    "{agent}, {question}?",
    "@{agent} {question}?",
    "Sorry to interrupt: {question}, {agent}?",
    "{question}? {agent}, I mean you.",
)
TO_OTHERS = (
    "{other}, {question}?",
    "{other}, did you see what {agent} wrote about {topic}?",
    "I liked what {agent} said on {topic}.",
    "{other}, please stop it, {agent} was right about {topic}.",
    "{chatter}",
)
TO_STOP = (
    "{agent}, please be quiet for now.",
    "That is enough, {agent}. No more messages, please.",
    "@{agent} stop answering in this room.",
    "{agent}, leave this conversation, we talk about {topic} alone.",
)
ACTIONS = {
    "SEND_MAIL": ("writes and sends an e-mail", "send an e-mail to {name}"),
    "ADD_EVENT": ("puts an event into the calendar", "put the dinner with {name} into the calendar"),
    "SET_TIMER": ("starts a timer", "start a timer of {number} minutes"),
    "PLAY_MUSIC": ("plays music", "play some music"),
    "BOOK_TABLE": ("books a table in a restaurant", "book a table for {number} people"),
    "ORDER_TAXI": ("orders a taxi", "order a taxi to the station"),
    "DIM_LIGHTS": ("changes the brightness of the lights", "dim the lights in the hall"),
    "PAY_BILL": ("pays a bill", "pay the bill for the electricity"),
    "ADD_NOTE": ("writes down a note", "note down that {name} called"),
    "CHECK_WEATHER": ("tells the weather", "tell me the weather for {day}"),
    "TRANSLATE": ("translates a text", "translate the letter from {name}"),
}
JOINTS = (", then ", ", after that ", ", and next ")
SHOPS = (
    "the bakery",
    "the pharmacy",
    "the library",
    "the bicycle shop",
    "the post office",
    "the bookshop",
    "the tailor",
)
PLACES = ("Mill Lane", "Harbour Square", "Oak Street", "Station Road", "Castle Hill", "River Walk", "Market Place")
TASKS = (
    "order the chairs",
    "paint the fence",
    "book the hall",
    "print the posters",
    "repair the projector",
    "write the invitation",
    "count the stock",
)
PRIORITIES = {"low": "It is not important", "normal": "The usual priority is fine", "high": "It is really important"}
_MARKS = "abcdefghjkmnpqrstuvwxyz"
_KINDS = 12
"""Period of the kinds of questions: a multiple of every modulus in the writers below."""


def generated(bucket: str, number: int, seed: int) -> FormatRecord:
    """Return question `number` of a bucket; equal arguments give equal questions."""
    rng = Random(f"eliza-format/1/{seed}/{bucket}/{number}")
    reference = "-".join("".join(rng.choices(_MARKS, k=4)) for _ in range(2))
    prompt, expected = _WRITERS[bucket](rng, _kind(bucket, number, seed))
    return FormatRecord(bucket, f"Reference: {reference}\n\n{prompt}", expected, f"{bucket}_{number}", reference)  # type: ignore[arg-type]


def _kind(bucket: str, number: int, seed: int) -> int:
    """Return the kind of question of a number: each occurs once in `_KINDS` numbers, in an unpredictable order."""
    block, place = divmod(number, _KINDS)
    return Random(f"eliza-format/1/{seed}/{bucket}/order/{block}").sample(range(_KINDS), _KINDS)[place]


def _should_respond(rng: Random, kind: int) -> tuple[str, dict[str, Any]]:
    action, forms = (("RESPOND", TO_AGENT), ("IGNORE", TO_OTHERS), ("STOP", TO_STOP))[kind % 3]
    agent, people = rng.choice(AGENTS), rng.sample(NAMES, 3)
    said = [*(rng.choice(CHATTER) for _ in range(rng.randint(2, 4))), rng.choice(forms)]
    lines = [f"{rng.choice(people[:2])}: {_filled(rng, line, agent, people[2])}" for line in said]
    return f"The agent is called {agent}.\n\nConversation:\n" + "\n".join(lines), {"action": action}


def _filled(rng: Random, form: str, agent: str, other: str) -> str:
    topic = rng.choice(TOPICS)
    question = rng.choice(QUESTIONS).format(topic=topic)
    chatter = rng.choice(CHATTER[1:5]).format(topic=topic)
    text = form.format(agent=agent, other=other, topic=topic, question=question, chatter=chatter)
    return text[0].upper() + text[1:]


def _message_handler(rng: Random, kind: int) -> tuple[str, dict[str, Any]]:
    offered = rng.sample(sorted(ACTIONS), 7)
    wanted = rng.sample(offered, 1 + kind % 3)
    spare = rng.choice([name for name in offered if name not in wanted])
    parts = [_asked(rng, name) for name in wanted]
    message = parts[0] + "".join(rng.choice(JOINTS) + part for part in parts[1:])
    refused = f"There is no need to {_asked(rng, spare)}."
    said = f"{rng.choice(('Please', 'Could you please', 'I need you to'))} {message}. {refused}"
    listed = "\n".join(f"- {name}: {ACTIONS[name][0]}" for name in offered)
    return f"Actions:\n{listed}\n\nMessage of {rng.choice(NAMES)}: {said}", {"actions": wanted}


def _asked(rng: Random, action: str) -> str:
    return ACTIONS[action][1].format(name=rng.choice(NAMES), number=rng.randint(2, 9), day=rng.choice(DAYS))


def _reply(rng: Random, kind: int) -> tuple[str, dict[str, Any]]:
    shops, days, places = rng.sample(SHOPS, 5), rng.sample(DAYS, 5), rng.sample(PLACES, 5)
    facts = [f"- {shop} in {place} is closed on {day}" for shop, day, place in zip(shops, days, places, strict=True)]
    at, asks_day = rng.randrange(5), kind % 2 == 0
    question = f"On which day is {shops[at]} closed?" if asks_day else f"Where is {shops[at]}?"
    values, every = (days, DAYS) if asks_day else (places, PLACES)
    expected = {"contains": [values[at]], "excludes": [value for value in every if value != values[at]]}
    known = "\n".join(facts)
    return f"What the agent knows:\n{known}\n\nMessage of {rng.choice(NAMES)}: {question}", expected


def _claude_distill(rng: Random, kind: int) -> tuple[str, dict[str, Any]]:
    first, second, third = rng.sample(NAMES, 3)
    days, task, priority = rng.sample(DAYS, 2), rng.choice(TASKS), rng.choice(sorted(PRIORITIES))
    lines = [
        f"{first}: Somebody has to {task}. {second}, can you do it by {days[0]}?",
        f"{third}: {rng.choice(CHATTER[3:5]).format(topic=rng.choice(TOPICS))}",
    ]
    owner, due = second, days[0]
    if kind % 2:
        owner = third
        lines.append(f"{second}: I have no time this week. {third}, will you?")
        lines.append(f"{third}: All right, I will.")
    else:
        lines.append(f"{second}: Yes, I will.")
    if kind % 4 < 2:
        due = days[1]
        lines.append(f"{first}: {days[0]} is a bad day, let us say {days[1]}.")
    lines.append(f"{first}: {PRIORITIES[priority]}. Thank you!")
    return "Conversation:\n" + "\n".join(lines), {"owner": owner, "task": task, "due": due, "priority": priority}


_WRITERS: Mapping[str, Callable[[Random, int], tuple[str, dict[str, Any]]]] = {
    "should_respond": _should_respond,
    "message_handler": _message_handler,
    "reply": _reply,
    "claude_distill": _claude_distill,
}
