"""ONE TURN, on Pydantic AI: a mailbox for a run, tools to write and to spawn, and the turn around them."""

from restante.turn.approval import Approvals, GatedCall, Verdict, reviewing
from restante.turn.asking import asking_tools
from restante.turn.clock import Clock
from restante.turn.journal import Journal
from restante.turn.mailbox import Mailbox, MailboxOptions
from restante.turn.observer import Observer
from restante.turn.spawn import spawn_tools
from restante.turn.streaming import OnText
from restante.turn.tools import messaging_tools
from restante.turn.turn import Turn, TurnOptions, TurnResult, open_turn, run_turn

__all__ = [
    "Approvals", "Clock", "GatedCall", "Journal", "Mailbox", "MailboxOptions", "Observer", "OnText", "Turn",
    "TurnOptions", "TurnResult", "Verdict", "asking_tools", "messaging_tools", "open_turn", "reviewing", "run_turn",
    "spawn_tools",
]  # fmt: skip
