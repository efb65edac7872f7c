"""The time tool: what day and what time it is, in UTC and in a zone."""

from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from pydantic_ai import FunctionToolset, ToolFailed

from restante.running.clock import Clock

CURRENT_TIME = (
    "The current date and time in UTC and, if you name one, in a time zone of the IANA list like `Europe/Berlin`."
)


def time_tools(clock: Clock) -> FunctionToolset[Any]:
    """Exactly `current_time(zone)`, by this clock."""
    toolset = FunctionToolset[Any](id="restante.time")
    toolset.add_function(_Tools(clock).current_time, description=CURRENT_TIME)
    return toolset


class _Tools:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def current_time(self, zone: str = "UTC") -> str:
        moment = datetime.fromtimestamp(self._clock.now(), UTC)
        in_utc = _shown(moment, "UTC")
        return in_utc if zone == "UTC" else f"{_shown(moment.astimezone(_zone(zone)), zone)}\n{in_utc}"


def _shown(moment: datetime, zone: str) -> str:
    return f"{moment.isoformat(timespec='seconds')}, {moment:%A} ({zone})"


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # which of them depends on what is no zone about the name
        known = available_timezones()
    if not known:
        raise ToolFailed("not_found: no time zones are installed on this machine. Call it without a zone, for UTC.")
    near = dict.fromkeys([*get_close_matches(name, known, n=3, cutoff=0.5), "Europe/Berlin", "America/New_York"])
    raise ToolFailed(f"not_found: there is no time zone {name!r}. Known are, for example: {', '.join(near)}.")
