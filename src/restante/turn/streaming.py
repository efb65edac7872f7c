"""The answers of models piece by piece as they come, for a host that shows them. The journal holds whole texts only."""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, on_event
from pydantic_ai.messages import ModelMessage, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import CompletedStreamedResponse, Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from typing_extensions import override

logger = logging.getLogger(__name__)

OnText = Callable[[str, str], None]
"""Told an address and a piece of what its model says. An empty piece: a model call of that address has begun to answer,
so that what follows is a new text, and what a call that was cut off had said before it does not count."""


class Streaming:
    """Whoever listens to the texts of a turn. If it raises, that is logged once, and changes nothing."""

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self._logged = False

    def of(self, address: str) -> AbstractCapability[Any]:
        """What makes a run stream, and tell its texts under this address."""
        return _Streamed(self, address)

    def tell(self, address: str, piece: str) -> None:
        """Pass on a piece of text."""
        try:
            self._on_text(address, piece)
        except Exception:
            if not self._logged:
                logger.exception("Whoever listens to the texts of a turn raised at one of %s.", address)
            self._logged = True


class _Streamed(AbstractCapability[Any]):
    """Listens to one run. That anybody listens to its events is what makes the library stream it."""

    def __init__(self, streaming: Streaming, address: str) -> None:
        self._streaming = streaming
        self._address = address
        self._spoken = False
        """This call has said something already."""

    @override
    def get_wrapper_model(self, model: Model) -> Model | None:
        """A model that cannot stream is asked as ever, and its text comes as one piece."""
        return None if can_stream(model) else _InOnePiece(model)

    @on_event(PartStartEvent)
    async def begins(self, ctx: RunContext[Any], event: PartStartEvent) -> None:
        """A part of an answer begins. Texts with something between them are set apart, as in the whole text."""
        del ctx
        if event.index == 0:
            self._spoken = False
            self._tell("")
        if not isinstance(event.part, TextPart):
            return
        apart = self._spoken and event.previous_part_kind != "text"
        self._say(("\n\n" if apart else "") + event.part.content)

    @on_event(PartDeltaEvent)
    async def goes_on(self, ctx: RunContext[Any], event: PartDeltaEvent) -> None:
        """More of a part has come."""
        del ctx
        if isinstance(event.delta, TextPartDelta):
            self._say(event.delta.content_delta)

    def _say(self, piece: str) -> None:
        if piece:
            self._spoken = True
            self._tell(piece)

    def _tell(self, piece: str) -> None:
        self._streaming.tell(self._address, piece)


class _InOnePiece(WrapperModel):
    """A model that cannot stream, for a run that does."""

    @asynccontextmanager
    @override
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        response = await self.wrapped.request(messages, model_settings, model_request_parameters)
        yield CompletedStreamedResponse(response, model_request_parameters=model_request_parameters, replay_events=True)


def can_stream(model: Model) -> bool:
    """Whether a model has a way of streaming its answers; of a fallback, whether each of its models has."""
    if isinstance(model, WrapperModel):
        return can_stream(model.wrapped)
    if isinstance(model, FallbackModel):
        return all(can_stream(one) for one in model.models)
    if isinstance(model, FunctionModel):
        return model.stream_function is not None
    return type(model).request_stream is not Model.request_stream
