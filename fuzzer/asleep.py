"""How long has this machine slept?"""

from __future__ import annotations

import time

# Clocks of which the first goes on while the machine sleeps, and the second does not (Linux; macOS).
_CLOCKS = (("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"), ("CLOCK_MONOTONIC", "CLOCK_UPTIME_RAW"))
_CLOCKS_HERE = next((pair for pair in _CLOCKS if all(hasattr(time, clock) for clock in pair)), None)


def asleep_s() -> float:
    """Seconds that it has slept since it was started; always 0 where no clock tells."""
    if _CLOCKS_HERE is None:
        return 0.0
    through_sleep, awake = (time.clock_gettime(getattr(time, clock)) for clock in _CLOCKS_HERE)
    return through_sleep - awake
