"""Which key of `restante.toml` belongs where, so that one in the wrong place is told the right one."""

import re
from dataclasses import fields
from types import MappingProxyType

from restante.bus.policy import BusPolicy
from restante.running.toml_table import Table

PLATFORM_LIMITS = (
    "text_max", "submission_id_max", "messages_per_hour", "page_default", "page_max", "wait_seconds_max",
    "parallel_turns", "turn_max", "approval_wait", "body_max", "json_depth",
)  # fmt: skip
BUS_LIMITS = tuple(each.name for each in fields(BusPolicy) if each.name != "name")
OF_OUR_AGENTS = ("instructions", "instructions_file", "model")
"""What an agent that exists already brings itself."""

PLACES = MappingProxyType(
    {
        "the top of the file": ("policy", "entry", "limits", "models", "mcp", "review", "agents"),
        "[limits]": (*PLATFORM_LIMITS, *BUS_LIMITS),
        "[models.NAME]": ("provider", "model", "base_url", "api_key_env"),
        "[mcp.NAME]": ("command", "args", "env_from", "url", "token_env", "headers_env", "start_seconds"),
        "[review]": ("model", "automatic"),
        "[agents.NAME]": (
            "description", *OF_OUR_AGENTS, "tools", "delegates_to", "rounds", "folder", "capabilities", "agent", "deps",
        ),
        "[agents.NAME.tools]": ("available", "confirm"),
        "[agents.NAME.capabilities]": ("free_text_ask",),
    }
)  # fmt: skip

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_KEY_HERE = "A key does not belong in this file. Put it into an environment variable and name that:"
_INSTEAD = MappingProxyType(
    {
        "api_key": 'api_key_env = "MY_KEY"',
        "token": 'token_env = "MY_TOKEN"',
        "headers": 'headers_env = {X-Key = "MY_KEY"}',
        "env": 'env_from = ["MY_KEY"]',
        "token_env": 'token_env = "MY_TOKEN"',
        "env_from": 'env_from = ["MY_KEY"]',
    }
)


def only(table: Table, place: str) -> None:
    """Refuse what is no key here. A key that belongs elsewhere is told where: TOML makes that mistake easy."""
    hints = {
        key: f"{key!r} is no key of {table.title}: it belongs to {other}."
        for other, known in PLACES.items()
        for key in known
    }
    secrets = {key: f"{_NO_KEY_HERE} {_INSTEAD[key]}." for key in ("api_key", "token", "headers", "env")}
    table.only(PLACES[place], hints | secrets)


def check_variable(table: Table, key: str, name: str | None = None) -> str | None:
    """The name of an environment variable: under `key`, or `name` in the array there. Raises `BadConfig`."""
    variable = table.text(key) if name is None else name
    if variable is not None and not _VARIABLE.fullmatch(variable):
        # Somebody may have put the key itself here, so it is not repeated.
        instead = _INSTEAD.get(key, f'{key} = "MY_KEY"')
        table.refuse(key, f"{key} is no name of an environment variable. {_NO_KEY_HERE} {instead}.")
    return variable
