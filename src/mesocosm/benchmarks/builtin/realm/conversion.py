"""Convert REALM-Bench's JSON files to our instances, with all times in minutes.

Times of the day are "HH:MM" or numbers: hours in P1 (as published), minutes elsewhere, days in P10. Distances are
minutes of driving, under keys "a-b". If a file sets no limit (window, shift, seats of errands, fuel), there is none.
"""

from collections.abc import Callable
from math import gcd
from typing import Any

import msgspec

from mesocosm.benchmarks.builtin.realm.dinner import Dinner, Dish, GuestFlight
from mesocosm.benchmarks.builtin.realm.fleet import FleetProblem, TransportRequest, Vehicle
from mesocosm.benchmarks.builtin.realm.groups import GroupProblem, Guide, VisitorGroup
from mesocosm.benchmarks.builtin.realm.relief import Region, Relief, Truck
from mesocosm.benchmarks.builtin.realm.supplied import FileValue, distances
from mesocosm.benchmarks.builtin.realm.supply import Component, Supplier, SupplierOffer, Supply
from mesocosm.benchmarks.builtin.realm.tour import Tour, TourStop

NO_LIMIT = 1_000_000
MOST_LOADS = 200


def _tour(part: FileValue) -> Tour:
    """P1: locations, distances, time_windows (hours), start_location, end_location, start_time, max_duration.

    Without a `start_time` the tour begins when the first place opens.
    """
    names = [name for name, _ in part.part("locations").named("name", "id")]
    home = part.part("start_location", "start").text()
    end = part.maybe("end_location", "end")
    goal = end.text() if end else home
    windows = part.maybe("time_windows")
    spans = {name: window.span(60) for name, window in windows.named("location", "name")} if windows else {}
    stays = part.maybe("visit_durations", "service_times")
    leaves, longest = part.maybe("start_time"), part.maybe("max_duration")
    begin = leaves.minute(60) if leaves else min((opens for opens, _ in spans.values()), default=0)
    places = tuple(
        TourStop(name, *spans.get(name, (0, NO_LIMIT)), stays.part(name).whole() if stays else 0)
        for name in names
        if name not in {home, goal}
    )
    travel = distances(part.part("distances"), list(dict.fromkeys([home, *names, goal])))
    return Tour(home, begin, begin + longest.whole() if longest else NO_LIMIT, places, travel, goal)


def _groups(part: FileValue) -> GroupProblem:
    """P2: visitor_groups (group_id, size, language, time_window, duration), tour_guides (guide_id, languages, …)."""
    groups = []
    for name, group in part.part("visitor_groups").named("group_id", "id", "name"):
        window, language = group.maybe("time_window", "preferred_time"), group.maybe("language", "preferred_language")
        earliest, latest = window.span() if window else (0, NO_LIMIT)
        minutes = group.part("duration", "tour_duration").whole()
        size = group.part("size", "group_size").whole()
        groups.append(VisitorGroup(name, size, language.text() if language else "", earliest, latest, minutes))
    guides = []
    for name, guide in part.part("tour_guides").named("guide_id", "id", "name"):
        spoken, shift = guide.maybe("languages", "language"), guide.maybe("availability", "shift", "available")
        languages = [] if spoken is None else [one.text() for one in spoken.items()]
        most, fee = guide.maybe("max_group_size", "capacity"), guide.maybe("fee", "cost")
        starts, ends = shift.span() if shift else (0, NO_LIMIT)
        guides.append(
            Guide(
                name,
                ("", *languages),
                most.whole() if most else NO_LIMIT,
                starts,
                ends,
                fee.whole() if fee else 1,
            )
        )
    return GroupProblem(tuple(groups), tuple(guides), 0, 1)


def _vehicles(part: FileValue, home: str) -> tuple[Vehicle, ...]:
    found = []
    for name, vehicle in part.part("vehicles").named("vehicle_id", "id", "name"):
        at, fuel = vehicle.maybe("location", "start_location"), vehicle.maybe("fuel", "max_distance", "range")
        seats = vehicle.part("capacity", "seats").whole()
        found.append(Vehicle(name, at.text() if at else home, seats, fuel.whole() if fuel else NO_LIMIT))
    return tuple(found)


def _fleet(part: FileValue, requests: list[TransportRequest], vehicles: tuple[Vehicle, ...]) -> FleetProblem:
    where = part.maybe("city_map")
    table = where.part("distances") if where else part.part("distances", "travel_times", "travel_time")
    ends = [place for one in requests for place in (one.origin, one.destination)]
    places = list(dict.fromkeys([*ends, *(vehicle.at for vehicle in vehicles)]))
    start = part.maybe("start_time")
    return FleetProblem(start.minute() if start else 0, tuple(requests), vehicles, distances(table, places))


def _rides(part: FileValue) -> FleetProblem:
    """P3, P4: city_map.distances, ride_requests (passenger_id, pickup, dropoff, earliest, latest), vehicles."""
    requests = []
    for name, ride in part.part("ride_requests", "passengers").named("passenger_id", "request_id", "id", "name"):
        origin = ride.part("pickup", "pickup_location", "origin", "start").text()
        destination = ride.part("dropoff", "dropoff_location", "destination", "end").text()
        window, size = ride.maybe("time_window", "pickup_window"), ride.maybe("num_passengers", "passengers", "seats")
        earliest, latest = window.span() if window else (0, NO_LIMIT)
        due = ride.maybe("deadline", "latest_dropoff", "latest_arrival")
        seats = size.whole() if size else 1
        requests.append(
            TransportRequest(name, origin, destination, seats, earliest, latest, 0, due.minute() if due else NO_LIMIT)
        )
    return _fleet(part, requests, _vehicles(part, requests[0].origin if requests else ""))


def _wedding(part: FileValue) -> FleetProblem:
    """P5, P8: guests (location, arrival_time), errands (location, duration), vehicles, constraints.wedding_deadline.

    All requests end at `venue` (of the file or its constraints), where vehicles without a location start.
    """
    rules = part.part("constraints")
    due = rules.part("wedding_deadline", "wedding_time").minute()
    place = rules.maybe("venue", "wedding_venue") or part.part("venue", "wedding_venue")
    venue = place.text()
    requests = []
    for name, guest in part.part("guests").named("guest_id", "name", "id"):
        arrives = guest.part("arrival_time", "arrives").minute()
        origin = guest.part("location", "arrival_location", "airport").text()
        requests.append(TransportRequest(name, origin, venue, 1, arrives, NO_LIMIT, 0, due))
    for name, errand in part.part("errands").named("errand_id", "name", "task", "id"):
        window, stay = errand.maybe("time_window", "open_hours"), errand.maybe("duration")
        opens, closes = window.span() if window else (0, NO_LIMIT)
        minutes = stay.whole() if stay else 0
        requests.append(TransportRequest(name, errand.part("location").text(), venue, 0, opens, closes, minutes, due))
    return _fleet(part, requests, _vehicles(part, venue))


def _dinner(part: FileValue) -> Dinner:
    """P6, P9: family_members, cooking_tasks (duration, oven), flights (arrival_time, travel_time), dependencies.

    Family members who are on no flight are at home and cook. `dinner_time` is in the file or its constraints.
    """
    flights = []
    for name, flight in part.part("flights").named("passenger", "guest", "member", "name", "id"):
        lands = flight.part("arrival_time", "lands").minute()
        flights.append(GuestFlight(name, lands, flight.part("travel_time", "drive", "drive_time").whole()))
    flying = {flight.guest for flight in flights}
    cooks = tuple(name for name, _ in part.part("family_members").named("name", "id") if name not in flying)
    if not cooks:
        raise part.part("family_members").wrong("names nobody who is at home")
    after: dict[str, list[str]] = {}
    for link in (part.maybe("dependencies") or FileValue(part.file, "dependencies", [])).items():
        before, then = (one.text() for one in link.items()[:2]) if len(link.items()) == 2 else ("", "")
        if not then:
            raise link.wrong("is not a pair of tasks (first, then)")
        after.setdefault(then, []).append(before)
    dishes = []
    for name, task in part.part("cooking_tasks").named("task", "task_id", "name", "id"):
        oven = task.maybe("oven", "requires_oven")
        baked = oven is not None and oven.value is True
        dishes.append(Dish(name, task.part("duration").whole(), baked, tuple(after.get(name, ()))))
    linked = {*after, *(name for dish in dishes for name in dish.after)}
    stray = sorted(linked - {dish.name for dish in dishes})
    if stray:
        raise part.part("dependencies").wrong(f"names {stray[0]!r}, which is not a cooking task")
    rules = part.maybe("constraints")
    dinner = (rules.maybe("dinner_time") if rules else None) or part.part("dinner_time")
    start = part.maybe("start_time")
    return Dinner(start.minute() if start else 0, dinner.minute(), cooks, 1, tuple(dishes), tuple(flights))


def _relief(part: FileValue) -> Relief:
    """P7: regions (severity, needs), resources.

    The published form has quantities but no vehicles: quantities become loads of the size of their greatest common
    divisor, each with its own truck at a single depot, and nothing is urgent or late.
    """
    resources = {name: amount.whole() for name, amount in part.part("resources").named("name", "id")}
    needs: dict[str, tuple[int, dict[str, int]]] = {}
    for name, region in part.part("regions").named("region", "name", "id"):
        wanted = {what: amount.whole() for what, amount in region.part("needs").named("name")}
        needs[name] = (region.part("severity").whole(), wanted)
    load = gcd(*resources.values(), *(amount for _, wanted in needs.values() for amount in wanted.values())) or 1
    count = sum(resources.values()) // load
    if count > MOST_LOADS:
        raise part.part("resources").wrong(
            f"makes {count} loads of {load}; at most {MOST_LOADS} can be planned one by one"
        )
    regions = tuple(
        Region(name, severity, NO_LIMIT, urgent=False, needs={what: n // load for what, n in wanted.items()})
        for name, (severity, wanted) in needs.items()
    )
    stock = {"Depot": {name: amount // load for name, amount in resources.items()}}
    trucks = tuple(Truck(f"T{i}", "Depot", 0) for i in range(1, count + 1))
    return Relief(regions, trucks, stock, {"Depot": dict.fromkeys(needs, 0)})


def _supply(part: FileValue) -> Supply:
    """P10: components (quantity), suppliers (components: cost, lead_time; capacity), budget, delivery_deadlines."""
    deadlines = part.part("delivery_deadlines")
    components = tuple(
        Component(name, component.part("quantity", "demand", "required").whole(), deadlines.part(name).whole())
        for name, component in part.part("components").named("component_id", "name", "id")
    )
    suppliers = []
    offers = []
    for name, supplier in part.part("suppliers").named("supplier_id", "name", "id"):
        capacity, fee = supplier.maybe("capacity"), supplier.maybe("order_fee", "fixed_cost")
        limit, price = capacity.whole() if capacity else NO_LIMIT, fee.whole() if fee else 0
        suppliers.append(Supplier(name, limit, price, 0))
        for component, offer in supplier.part("components", "offers").named("component_id", "name", "id"):
            cost = offer.part("cost", "unit_cost", "price").whole()
            offers.append(SupplierOffer(name, component, cost, offer.part("lead_time", "lead").whole()))
    known = {component.name for component in components}
    stray = next((offer for offer in offers if offer.component not in known), None)
    if stray is not None:
        raise part.part("suppliers").wrong(f"{stray.supplier} offers {stray.component!r}, which is not a component")
    return Supply(components, tuple(suppliers), tuple(offers), part.part("budget").whole())


def _own_form_only(part: FileValue) -> msgspec.Struct:
    """P11 is given as text, or in our own form."""
    part.part("jobs")
    raise part.wrong("is not a job shop: give jobs with name and operations, and deadline (or null)")


CONVERSIONS: dict[str, Callable[[FileValue], Any]] = {
    "P1": _tour,
    "P2": _groups,
    "P3": _rides,
    "P4": _rides,
    "P5": _wedding,
    "P6": _dinner,
    "P7": _relief,
    "P8": _wedding,
    "P9": _dinner,
    "P10": _supply,
    "P11": _own_form_only,
}
"""Converters by problem."""
