"""A store for each test."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.durable.stores import Store, open_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    async with open_store(tmp_path / "store.db") as opened:
        yield opened
