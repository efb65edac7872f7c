"""A task group whose tasks last as long as its block, and no longer."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class _BlockLeft(Exception):  # it is no error: it is how a group is told to end
    """Raised within the group to cancel what still runs."""


@asynccontextmanager
async def owning_group() -> AsyncGenerator[asyncio.TaskGroup]:
    """At the end of the block every task is cancelled and awaited. What the block raises comes out as it was."""
    left_by: Exception | None = None
    try:
        async with asyncio.TaskGroup() as group:
            try:
                yield group
            except Exception as error:  # noqa: BLE001  # a group would wrap it; it is raised below
                left_by = error
            raise _BlockLeft  # noqa: TRY301  # the group must see it
    except* _BlockLeft:
        pass
    if left_by is not None:
        raise left_by
