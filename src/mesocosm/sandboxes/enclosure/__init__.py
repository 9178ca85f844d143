"""Foreign programs of strangers: without a network, within limits, their HTTP reached through a unix socket."""

from mesocosm.sandboxes.enclosure.choice import choose
from mesocosm.sandboxes.enclosure.enclosed import Enclosed, Finished
from mesocosm.sandboxes.enclosure.enclosure import Enclosure

__all__ = ["Enclosed", "Enclosure", "Finished", "choose"]
