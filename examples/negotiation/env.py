"""A negotiation: a buyer and a seller settle price, delivery and warranty, each knowing only their own side."""

import json
import math
import random
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from mesocosm.environments import BaseEnv, StepResult

ROLES = ("buyer", "seller")
DELIVERY = ("slow", "standard", "express")
WARRANTY = ("none", "one_year", "three_years")
HIGHEST_PRICE = 250.0
TURNS = 10
PATIENCE = 0.95  # what each offer after the first leaves of the gains
LONGEST_MESSAGE = 400  # characters


@dataclass(frozen=True)
class Terms:
    """What an offer proposes."""

    price: float
    delivery: str
    warranty: str

    def __str__(self) -> str:
        return f"{self.price:.2f}, {self.delivery} delivery, warranty {self.warranty.replace('_', ' ')}"


@dataclass(frozen=True)
class Side:
    """What the deal is worth to the buyer, or costs the seller: the bare item, and what each option adds."""

    item: int
    delivery: dict[str, int]
    warranty: dict[str, int]

    def total(self, delivery: str, warranty: str) -> int:
        """Return worth or cost of the item with these options."""
        return self.item + self.delivery[delivery] + self.warranty[warranty]


def draw_sides(rng: random.Random) -> tuple[Side, Side]:
    """Return a buyer and a seller between whom there is always something to gain."""

    def side(item: int) -> Side:
        steps = [sorted((0, rng.randint(2, 20), rng.randint(10, 40))) for _ in range(2)]
        return Side(item, dict(zip(DELIVERY, steps[0], strict=True)), dict(zip(WARRANTY, steps[1], strict=True)))

    cost = rng.randint(40, 90)
    return side(cost + rng.randint(20, 60)), side(cost)


class Negotiation(BaseEnv):
    """One negotiation. The seed draws what the deal is worth to either side; the two take turns."""

    def reset(self, seed: int | None = None, **params: Any) -> dict[str, Any]:
        """Draw both sides; the buyer begins."""
        self.buyer, self.seller = draw_sides(random.Random(seed))
        self.offer: Terms | None = None  # what lies on the table
        self.offered_by = ""
        self.offers = 0
        self.turn = 0
        self.talk: list[str] = []
        return self._look("Make the first offer.")

    @property
    def role(self) -> str:
        """Whose turn it is."""
        return ROLES[self.turn % 2]

    def parse_action(self, action: Any) -> dict[str, Any]:
        """Take an object, or the text of one."""
        if isinstance(action, str):
            try:
                action = json.loads(action[action.index("{") : action.rindex("}") + 1])
            except ValueError:
                return {"move": "", "message": action}
        return action if isinstance(action, dict) else {"move": ""}

    def step(self, action: dict[str, Any]) -> StepResult:
        """Let the side whose turn it is speak; a move that is not possible passes the turn."""
        role, said = self.role, str(action.get("message") or "")[:LONGEST_MESSAGE]
        deal, event = None, f"The {role} makes no valid move."
        match action.get("move"):
            case "offer":
                if offer := read_terms(action):
                    self.offer, self.offered_by, self.offers = offer, role, self.offers + 1
                    event = f"The {role} offers {offer}."
            case "accept" if self.offer and self.offered_by != role:
                deal, event = self.offer, f"The {role} accepts."
            case "reject":
                self.offer, event = None, f"The {role} turns the offer down."
        self.talk.append(f"{event} “{said}”" if said else event)
        self.turn += 1
        return self._result(deal, event)

    def oracle(self) -> dict[str, Any]:
        """Propose the options that create most, split evenly; accept nothing less. It knows both sides."""
        best = self._best()
        move = "accept" if self.offer == best and self.offered_by != self.role else "offer"
        return {"move": move, **asdict(best), "message": "Let us share what there is to gain."}

    def render(self, mode: str = "text") -> str:
        """Show what was said."""
        return "\n".join(self.talk)

    def _result(self, deal: Terms | None, event: str) -> StepResult:
        info: dict[str, Any] = {"active_role": self.role, "turns": self.turn, "deal": False, "surplus_share": 0.0}
        if deal:
            gains = {role: self._gain(role, deal) for role in ROLES}
            info |= {f"{role}_gain": round(gain, 2) for role, gain in gains.items()}
            info["deal"] = min(gains.values()) >= 0
            if info["deal"]:
                most = sum(self._gain(role, self._best()) for role in ROLES)
                info["surplus_share"] = PATIENCE ** (self.offers - 1) * sum(gains.values()) / most
            else:
                event += " But one side would lose by this deal, so it is void."
        over = deal is not None or self.turn == TURNS
        return StepResult(
            observation=self._look(event if not over or deal else f"{event} Time is up: no deal."),
            reward=info["surplus_share"],
            terminated=over,
            truncated=False,
            info=info,
        )

    def _look(self, message: str) -> dict[str, Any]:
        """Return what the side whose turn it is may know."""
        role = self.role
        side, kind = (self.buyer, "worth_to_you") if role == "buyer" else (self.seller, "cost_to_you")
        table = None
        if self.offer:
            table = {"from": self.offered_by, **asdict(self.offer), "your_gain": round(self._gain(role, self.offer), 2)}
        return {
            "active_role": role,
            kind: asdict(side),
            "offer_on_the_table": table,
            "talk": self.talk[:],
            "turns_left": TURNS - self.turn,
            "message": message,
        }

    def _gain(self, role: str, terms: Terms) -> float:
        if role == "buyer":
            return self.buyer.total(terms.delivery, terms.warranty) - terms.price
        return terms.price - self.seller.total(terms.delivery, terms.warranty)

    def _best(self) -> Terms:
        """Return the terms with the highest common gain, at the price that halves it."""

        def sides(options: tuple[str, str]) -> tuple[int, int]:
            return self.buyer.total(*options), self.seller.total(*options)

        best = max(product(DELIVERY, WARRANTY), key=lambda options: sides(options)[0] - sides(options)[1])
        return Terms(sum(sides(best)) / 2, *best)


def read_terms(action: dict[str, Any]) -> Terms | None:
    """Return the terms of an offer, or None when one is missing or impossible."""
    try:
        price = round(float(action["price"]), 2)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    terms = Terms(price, str(action.get("delivery")), str(action.get("warranty")))
    possible = math.isfinite(price) and 0 <= price <= HIGHEST_PRICE
    return terms if possible and terms.delivery in DELIVERY and terms.warranty in WARRANTY else None
