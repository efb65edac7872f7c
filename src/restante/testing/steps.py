"""Does something between two steps of a program: at the first, the second, and so on, until the program has no more."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

Main = Callable[[], Coroutine[Any, Any, object]]
Act = Callable[[asyncio.Task[object]], object]


@dataclass(kw_only=True)
class Stepped:
    """What became of a program that something was done to."""

    steps: int = 0
    """How many steps its tasks took: from one place where one of them waits to the next."""
    acted: bool = False
    """It came to the step before which something was to be done."""
    error: BaseException | None = None
    """What it raised."""
    outlived: list[asyncio.Task[Any]] = field(default_factory=list[asyncio.Task[Any]])
    """The tasks that were not done when it was."""
    unhandled: list[str] = field(default_factory=list[str])
    """What the event loop would have logged, such as errors that nobody has retrieved."""


def cancels(main: asyncio.Task[object]) -> None:
    """Cancel the whole program, as a timeout around it does."""
    main.cancel()


def step_by_step(main: Main, *, at: int, act: Act = cancels) -> Stepped:
    """Run `main()` in an event loop of its own, and call `act` with its task before step `at`, counted from 1.

    The steps of all tasks count, in the order in which the loop runs them. That order is the same each time as long as
    the program waits for no thread, socket or clock. Call it with `at` from 1 on until `acted` is false.
    """
    seen = Stepped()
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _, context: seen.unhandled.append(str(context.get("exception", context))))

    async def whole() -> None:
        try:
            await main()
        finally:
            seen.outlived = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    def before_step() -> None:
        if task.done():
            return  # the loop itself is being closed
        seen.steps += 1
        if seen.steps == at:
            seen.acted = True
            act(task)

    def counted(_: object, work: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(_Counted(work, before_step), loop=loop, **options)

    loop.set_task_factory(counted)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        task: asyncio.Task[object] = runner.get_loop().create_task(whole())
        try:
            loop.run_until_complete(task)
        except BaseException as error:  # noqa: BLE001 - what it raises is what became of it
            seen.error = error
    return seen


class _Counted(Coroutine[Any, Any, Any]):
    """A coroutine that says when it is about to take a step."""

    def __init__(self, work: Any, before_step: Callable[[], None]) -> None:
        self._work = work
        self._before_step = before_step

    @override
    def send(self, value: Any) -> Any:
        self._before_step()
        return self._work.send(value)

    @override
    def throw(self, *error: Any) -> Any:
        self._before_step()
        return self._work.throw(*error)

    @override
    def close(self) -> None:
        self._work.close()

    @override
    def __await__(self) -> Generator[Any, Any, Any]:
        return self._work.__await__()

    def __getattr__(self, name: str) -> Any:
        """Whoever looks into a task asks for its frame."""
        return getattr(self._work, name)
