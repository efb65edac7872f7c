"""States are tables: what may follow what. Nothing else changes the state of a thing."""

from collections.abc import Mapping
from typing import Literal

Cause = Literal[
    "claimed", "returned", "ended", "failed", "restarted", "refused", "drained", "left", "stopped", "removed", "unread"
]
"""What happens to a thing.

`claimed`: its turn starts. `drained`: a running entry run took it. `returned`: the model call that carried it did.
`ended`, `failed`, `stopped`: so its turn ended. `left`: its turn ended and nobody read it. `restarted`: found after a
crash. `removed`: its recipient is gone. `refused`: the bus would not have it. `unread`: it was for certain runs alone,
and none of them read it.
"""

Table = Mapping[tuple[str, Cause], str]

MESSAGES: Table = {
    ("queued", "claimed"): "started",
    ("queued", "removed"): "undeliverable",
    ("started", "returned"): "read",
    ("started", "ended"): "ended_failed",
    ("started", "failed"): "ended_failed",
    ("started", "stopped"): "ended_failed",
    ("started", "restarted"): "interrupted",
    ("read", "ended"): "ended_ok",
    ("read", "failed"): "ended_failed",
    ("read", "stopped"): "ended_failed",
    ("read", "restarted"): "interrupted",
}
"""A message to a hosted recipient. One to a principal is `stored` and stays so."""

WORDS_THAT_BEGAN: Table = {
    ("queued", "claimed"): "started",
    ("queued", "removed"): "undeliverable",
    ("started", "returned"): "read",
    ("started", "ended"): "ended_failed",
    ("started", "failed"): "ended_failed",
    ("started", "stopped"): "undeliverable",
    ("started", "restarted"): "interrupted",
}
"""A person's words that began their turn."""

WORDS_THAT_JOINED: Table = {
    ("offered", "drained"): "started",
    ("offered", "returned"): "read",
    ("started", "returned"): "read",
    ("offered", "left"): "queued",
    ("started", "left"): "queued",
    ("offered", "restarted"): "queued",
    ("started", "restarted"): "queued",
    ("offered", "stopped"): "undeliverable",
    ("started", "stopped"): "undeliverable",
    ("offered", "refused"): "undeliverable",
    ("offered", "unread"): "undeliverable",
    ("started", "unread"): "undeliverable",
}
"""A person's words that came while a turn ran."""

TURNS: Table = {
    ("queued", "claimed"): "running",
    ("queued", "removed"): "ended_failed",
    ("running", "ended"): "ended_ok",
    ("running", "failed"): "ended_failed",
    ("running", "stopped"): "stopped",
    ("running", "restarted"): "interrupted",
}


class WrongState(RuntimeError):
    """A mistake of ours: something happened to a thing that cannot happen to it in its state."""


def after(table: Table, state: str, cause: Cause) -> str:
    """The state that follows. Raises `WrongState` where nothing does."""
    try:
        return table[state, cause]
    except KeyError:
        raise WrongState(f"What is {state} cannot be {cause}.") from None


def may(table: Table, state: str, cause: Cause) -> bool:
    """Whether `cause` can happen to what is in `state`; a final state takes nothing."""
    return (state, cause) in table
