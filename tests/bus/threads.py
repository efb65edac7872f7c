"""Threads of a test that are really at work at the same moment."""

import threading
from collections.abc import Callable, Sequence


def together(acts: Sequence[Callable[[], object]]) -> None:
    """Run the acts in a thread each, all released at once."""
    barrier = threading.Barrier(len(acts))

    def run(act: Callable[[], object]) -> None:
        barrier.wait(timeout=10)
        act()

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert not any(thread.is_alive() for thread in threads)
