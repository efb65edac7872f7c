"""Whose token is whose, remembered until a token is revoked."""

from restante.durable import principals
from restante.durable.callers import Caller
from restante.durable.db.database import Committed, Database
from restante.durable.principals import TOKENS_TOPIC, digest_of

REMEMBERED = 10_000


class Sessions:
    """Asks the store once for each token. The commit of a revocation makes it forget."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._callers: dict[str, Caller] = {}
        self._forgotten = 0

    async def caller_of(self, token: str) -> Caller:
        """Whose token this is. Raises `Unauthorized`."""
        digest = digest_of(token)
        known = self._callers.get(digest)
        if known is not None:
            return known
        forgotten = self._forgotten
        caller = await self._database.read(lambda tx: principals.get_caller(tx, token))
        # What was read before a revocation is not kept after it.
        if forgotten == self._forgotten and len(self._callers) < REMEMBERED:
            self._callers[digest] = caller
        return caller

    def heard(self, committed: Committed) -> None:
        """A commit may have revoked a token."""
        if TOKENS_TOPIC in committed.topics:
            self._forgotten += 1
            self._callers.clear()
