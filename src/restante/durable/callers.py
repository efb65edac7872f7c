"""Who acts: known from a token or from the turn, never from an argument."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The acting side of an operation."""

    kind: Literal["principal", "agent"]
    id: str
    name: str
    chat_id: str | None = None
    """Of a hosted agent: the chat whose turn acts."""
    turn_id: str | None = None

    @property
    def submitter(self) -> str:
        """Within what its submission ids are unique: the principal; of a hosted agent, the one turn.

        A model that counts from 1 in each turn means another message each time.
        """
        return self.turn_id or self.id
