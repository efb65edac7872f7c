"""For a host that must commit what was read: who it is told, and that its failures change nothing."""

import logging
from typing import Literal, Protocol

from restante.bus.rendering import Delivery

logger = logging.getLogger(__name__)

Deliveries = tuple[Delivery, ...]
Moment = Literal["claimed", "returned", "failed"]


class Observer(Protocol):
    """Awaited by the mailbox. One that raises is logged once for a run, and changes nothing."""

    async def claimed(self, address: str, deliveries: Deliveries) -> None:
        """Before the call that carries them."""
        ...

    async def returned(self, address: str, deliveries: Deliveries) -> None:
        """That call is complete; before the next round."""
        ...

    async def failed(self, address: str, deliveries: Deliveries) -> None:
        """It is not, and it will not be made again."""
        ...


class Observed:
    """One run, as its host observes it."""

    def __init__(self, observer: Observer | None, address: str) -> None:
        self._observer = observer
        self._address = address
        self._logged = False

    async def tell(self, moment: Moment, deliveries: Deliveries) -> None:
        """Tell the observer, if there is one and something to tell."""
        if self._observer is None or not deliveries:
            return
        try:
            await getattr(self._observer, moment)(self._address, deliveries)
        except Exception:
            if not self._logged:
                logger.exception("The observer of %s raised when told what was %s.", self._address, moment)
            self._logged = True
