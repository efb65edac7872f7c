"""Who attends a chat: where a gated call of its turns asks for a yes or a no."""

import asyncio
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from restante.running.clock import Clock
from restante.running.config import Config
from restante.running.tasks import owning_group
from restante.turn import Approvals, GatedCall, Verdict
from restante.turn.approval import AskPerson, Review


class Attending:
    """Chat -> who is asked. It holds nothing that outlives the process: a turn that is cut off asks no more."""

    def __init__(self, config: Config, clock: Clock, reviewer: Review | None) -> None:
        self._clock = clock
        self._wait_s = config.limits.approval_wait
        self._gated: Mapping[str, tuple[str, ...]] = {name: agent.confirm for name, agent in config.agents.items()}
        self._reviewer = reviewer
        self._automatic = config.review.automatic if config.review else 0
        self._asked: dict[str, list[AskPerson]] = {}

    @contextmanager
    def attend(self, chat_id: str, ask: AskPerson) -> Generator[None]:
        """While the block lasts, gated calls of the chat's turns are asked here; of several, the latest is asked."""
        asked = self._asked.setdefault(chat_id, [])
        asked.append(ask)
        try:
            yield
        finally:
            asked.remove(ask)
            if not asked:
                del self._asked[chat_id]

    def approvals(self, chat_id: str) -> Approvals | None:
        """What the turns of a chat are run with; None where nothing is gated."""
        if not any(self._gated.values()):
            return None

        async def person(call: GatedCall) -> Verdict | None:
            asked = self._asked.get(chat_id)
            return await self._answer(asked[-1], call) if asked else None

        async def review(call: GatedCall) -> bool:
            # A reviewer turns a question into a yes: where nobody would be asked, there is none.
            return self._reviewer is not None and chat_id in self._asked and await self._reviewer(call)

        return Approvals(gated=self._gated, person=person, reviewer=review, automatic=self._automatic)

    async def _answer(self, ask: AskPerson, call: GatedCall) -> Verdict | None:
        """The answer, or a no when it does not come in time."""
        failure: Exception | None = None
        late = f"nobody answered within {self._wait_s:g} seconds"
        verdict: Verdict | None = Verdict(allowed=False, reason=late, answered=False)

        async def answer() -> None:
            nonlocal verdict, failure
            try:
                verdict = await ask(call)
            except Exception as error:  # noqa: BLE001 - a group would wrap it; it is raised below
                failure = error

        async with owning_group() as group:
            tasks = [group.create_task(answer()), group.create_task(self._clock.sleep(self._wait_s))]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
        if failure is not None:
            raise failure
        return verdict
