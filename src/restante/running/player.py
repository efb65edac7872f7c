"""One claimed turn, from its opening to the change that ends it."""

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from restante.bus import MessageBus
from restante.durable import histories, turns, words
from restante.durable.callers import Caller
from restante.durable.db.database import Database, Transaction
from restante.durable.histories import History
from restante.durable.sends import SendRules
from restante.durable.turns import Claimed, Ending
from restante.durable.words import Words
from restante.errors import StoreUnavailable
from restante.running.agents import Hosted
from restante.running.attending import Attending
from restante.running.clock import Clock, now_ms
from restante.running.config import Config
from restante.running.live import Live
from restante.running.openings import opening_of
from restante.running.pieces import Piece, Pieces
from restante.running.recorder import RETRY_S, Recorder
from restante.running.replies import Replies
from restante.turn import Turn, TurnOptions, TurnResult, open_turn
from restante.turn.parts import as_text

TURN_LIMIT = "turn_limit"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Engine:
    """What running a turn needs."""

    database: Database
    clock: Clock
    config: Config
    agents: Mapping[str, Hosted]
    live: Live
    attending: Attending
    pieces: Pieces
    group: asyncio.TaskGroup
    """Owns the tasks of every turn."""

    async def offer(self, chat_id: str, said: Words) -> bool:
        """Hand committed words to the turn that runs; whether it took them, or leaves them to the next turn."""
        receipt = self.live.offer(chat_id, said)
        # One that is over leaves words to everyone to the next turn; what was for its workers has nobody to wait for.
        if receipt is None or receipt.accepted or said.addressed is None:
            return True
        reason = receipt.code or "not_found"
        await self.database.write(lambda tx: words.refused(tx, said.message_id, reason))
        return False

    def send_rules(self) -> SendRules:
        """The limits of a send that is made now."""
        limits = self.config.limits
        return SendRules(
            text_max=limits.text_max,
            submission_id_max=limits.submission_id_max,
            messages_per_hour=limits.messages_per_hour,
            now_ms=now_ms(self.clock),
        )


class Player:
    """Runs one turn. A turn that fails is a fact that is stored, and stops nothing else."""

    def __init__(self, engine: Engine, claimed: Claimed) -> None:
        self._engine = engine
        self._turn = claimed
        self._hosted = engine.agents[claimed.agent]
        self._recorder = Recorder(engine.database, engine.clock, claimed)
        self._too_long = False
        self._unread: dict[str, str] = {}
        """Why words of the person were not delivered, by their ids."""
        self._before: list[ModelMessage] = []
        """What the model read and said in earlier turns."""

    async def play(self) -> None:
        """Run the turn and store how it ended. If this is cancelled, the turn stays as a crash would leave it."""
        history: History | None = None
        self._engine.live.expect(self._turn.chat_id)
        try:
            result = await self._run()
            ending = self._ending_of(result)
            if self._turn.words and result.outcome == "answered":
                history = _added(self._before, result.messages)
        except asyncio.CancelledError:
            with suppress(StoreUnavailable):
                await self._recorder.flush()
            raise
        except Exception as error:
            logger.exception("Turn %s could not be run.", self._turn.turn_id)
            ending = Ending(cause="failed", error=f"{type(error).__name__}: {error}")
        finally:
            self._engine.live.remove(self._turn.chat_id)
        await self._end(ending, history)

    async def _run(self) -> TurnResult:
        opening = opening_of(self._turn.messages, self._turn.words)
        async with open_turn(self._hosted.agent, opening, await self._options()) as turn:
            helpers = [
                self._engine.group.create_task(self._recorder.keep()),
                self._engine.group.create_task(self._limit(turn)),
            ]
            self._engine.live.add(self._turn.chat_id, turn)
            try:
                await self._offer_early_words()
                result = await turn.result()
                self._unread = _reasons(turn.bus)
                return result
            finally:
                self._engine.live.remove(self._turn.chat_id)
                for helper in helpers:
                    helper.cancel()

    async def _options(self) -> TurnOptions:
        engine, claimed = self._engine, self._turn
        rounds = {name: hosted.rounds for name, hosted in engine.agents.items() if hosted.rounds is not None}
        return TurnOptions(
            label=claimed.agent,
            agents=self._hosted.delegates,
            rounds=rounds,
            policy=engine.config.policy,
            # The history of earlier turns holds their ids.
            id_prefix="m" if claimed.number == 1 else f"t{claimed.number}m",
            sink=self._recorder,
            observer=self._recorder,
            clock=engine.clock,
            approvals=engine.attending.approvals(claimed.chat_id),
            # Only where somebody watches: asking for pieces changes how a model is called.
            on_text=self._tell_piece if engine.pieces.are_wanted(claimed.chat_id) else None,
            history=await self._history(),
            toolsets=[self._replies()] if claimed.messages else [],
        )

    def _tell_piece(self, address: str, text: str) -> None:
        claimed = self._turn
        piece = Piece(turn_id=claimed.turn_id, address=address, text=text, after=self._recorder.newest)
        self._engine.pieces.tell(claimed.chat_id, piece)

    async def _history(self) -> list[ModelMessage]:
        """What was read and said before in a person's chat. Messages of others are each answered on their own."""
        if not self._turn.words:
            return []
        chat_id = self._turn.chat_id
        written = await self._engine.database.read(lambda tx: histories.read_history(tx, chat_id))
        self._before = ModelMessagesTypeAdapter.validate_json(written)
        return self._before

    def _replies(self) -> Replies:
        claimed = self._turn
        caller = Caller(
            kind="agent",
            id=claimed.agent_id,
            name=claimed.agent,
            chat_id=claimed.chat_id,
            turn_id=claimed.turn_id,
        )
        return Replies(
            database=self._engine.database,
            caller=caller,
            rules=self._engine.send_rules,
            before=self._recorder.flush,
        )

    async def _offer_early_words(self) -> None:
        """Words that were committed after the claim, before the turn was there to take them."""
        turn_id = self._turn.turn_id
        for said in await self._engine.database.read(lambda tx: words.list_unread(tx, turn_id)):
            await self._engine.offer(self._turn.chat_id, said)

    async def _limit(self, turn: Turn) -> None:
        await self._engine.clock.sleep(self._engine.config.limits.turn_max)
        self._too_long = True
        turn.stop()

    def _ending_of(self, result: TurnResult) -> Ending:
        report = json.dumps(result.report.facts())
        ending = Ending(cause="stopped", report=report, read=frozenset(self._recorder.read), unread=self._unread)
        if result.outcome == "answered":
            return replace(ending, cause="ended", answer=as_text(result.output))
        if result.outcome == "failed":
            return replace(ending, cause="failed", error=result.error)
        return replace(ending, cause="failed", reason=TURN_LIMIT, error=TURN_LIMIT) if self._too_long else ending

    async def _end(self, ending: Ending, history: History | None) -> None:
        """Commit the end, however long it takes until there is room for it."""
        claimed, clock = self._turn, self._engine.clock
        was_running = True

        def change(tx: Transaction) -> None:
            nonlocal was_running
            was_running = turns.end(tx, claimed.turn_id, ending, now_ms(clock))
            if was_running and history is not None:
                histories.write_history(tx, claimed.turn_id, history)

        while True:
            try:
                await self._recorder.flush(change)
            except StoreUnavailable as error:
                logger.warning("The end of %s waits: %s", claimed.turn_id, error.message)
                await clock.sleep(RETRY_S)
            else:
                break
        if not was_running:
            logger.error("The end of %s came to nothing: somebody else has ended it in the store.", claimed.turn_id)


def _reasons(bus: MessageBus) -> dict[str, str]:
    """Why words of the person reached nobody that they were for, by the ids under which they are stored."""
    fates = ((words.token, fate) for words in bus.person_words() for fate in bus.fates(words.message_id))
    return {token: fate.reason for token, fate in fates if token and fate.reason}


def _added(before: list[ModelMessage], messages: tuple[ModelMessage, ...]) -> History:
    """What a turn added; all of it, if the turn has changed what was there before."""
    whole = list(messages[: len(before)]) != before
    added = list(messages) if whole else list(messages[len(before) :])
    return History(json=ModelMessagesTypeAdapter.dump_json(added).decode(), whole=whole)
