"""Do the probes and their canaries come to the same engine? Now and then a canary is sung twice, so that they do.

Two engines that take strict turns share them out: every probe is the one's, and every canary the other's. Then nine
confirmations are those of one engine, and the edge of the other is never met. One request more changes who is next.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fuzzer.lifetime.canary import sing
from fuzzer.model import Role

if TYPE_CHECKING:
    from fuzzer.evidence import Evidence
    from fuzzer.model import Baseline
    from fuzzer.prompts.recipe import Recipe
    from fuzzer.rig import Rig

EVERY: Final = 3  # probes: of nine that confirm, each of two engines gets three at the least
_CLAIMS_NOTHING = {Role.BASELINE, Role.SINGLE, Role.PRIME, Role.OVER_LIMIT, Role.WARM_UP, Role.MEASURE}


def is_called_for(e: Evidence, seq: int) -> bool:
    """Is it a good answer that a claim may rest on, where no metrics tell who gave it? By its number alone, so that a
    run that is repeated asks the same.
    """
    is_known = e.before is not None and bool(e.before.work)
    is_well = e.reply.status == 200 and e.canary is not None and e.canary.ok and not e.drained
    return is_well and not is_known and e.spec.role not in _CLAIMS_NOTHING and seq % EVERY == 0


async def sung_twice(rig: Rig, recipe: Recipe, e: Evidence, yardstick: Baseline | None) -> Evidence:
    """With one more canary. It is the one that tells where it fails; who turns it away takes nothing back."""
    again = replace(recipe, head=f"{recipe.head}/encore")
    second = await sing(rig.target, rig.prompts, again, e.deadline_s, yardstick)
    if second.ok or second.turned_away:
        return replace(e, encore=second)
    return replace(e, canary=second, encore=e.canary)
