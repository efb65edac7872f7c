"""Tokens: shown once, stored as a digest, good until they are revoked."""

from pathlib import Path

import pytest

from restante.durable import principals
from restante.errors import BadLabel, NotFound, Unauthorized
from tests.durable.stores import NOON_MS, open_store

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]


async def test_a_token_is_nowhere_in_the_store(tmp_path: Path) -> None:
    async with open_store(tmp_path / "s.db") as store:
        made = await store.database.write(lambda tx: principals.create_token(tx, "ci", NOON_MS))
        secret = made.token.removeprefix("restante_").encode()
        files = [path.read_bytes() for path in tmp_path.iterdir()]  # noqa: ASYNC240  # a test may block

    assert not any(secret in content for content in files)


async def test_a_second_token_of_a_label_is_the_same_principals(tmp_path: Path) -> None:
    async with open_store(tmp_path / "s.db") as store:
        one, two = [
            await store.database.write(lambda tx: principals.create_token(tx, label, NOON_MS))  # noqa: B023
            for label in ("ci", "ci")
        ]

    assert one.principal_id == two.principal_id
    assert one.token != two.token


async def test_a_label_in_other_letters_is_refused_naming_the_one_that_there_is(tmp_path: Path) -> None:
    async with open_store(tmp_path / "s.db") as store:
        await store.database.write(lambda tx: principals.create_token(tx, "ci", NOON_MS))
        with pytest.raises(BadLabel, match="'ci'"):
            await store.database.write(lambda tx: principals.create_token(tx, "CI", NOON_MS))


async def test_nobody_gets_the_name_of_a_hosted_agent(tmp_path: Path) -> None:
    async with open_store(tmp_path / "s.db") as store:
        for label in ("scout", "Scout"):
            with pytest.raises(BadLabel, match="'scout' is an agent") as refused:
                await store.database.write(lambda tx: principals.create_token(tx, label, NOON_MS))  # noqa: B023
            assert refused.value.code == "invalid_name"


async def test_every_token_that_does_not_open_gets_the_same_answer(tmp_path: Path) -> None:
    async with open_store(tmp_path / "s.db") as store:
        made = await store.database.write(lambda tx: principals.create_token(tx, "ci", NOON_MS))
        await store.database.write(lambda tx: principals.revoke_token(tx, made.token_id, NOON_MS))
        bodies: set[str] = set()
        for token in (made.token, made.token[:-1], "x", "", "restante_\ud800"):
            with pytest.raises(Unauthorized) as refused:
                await store.database.read(lambda tx: principals.get_caller(tx, token))  # noqa: B023
            bodies.add(str(refused.value.body()))
        with pytest.raises(NotFound):
            await store.database.write(lambda tx: principals.revoke_token(tx, made.token_id, NOON_MS))

    assert len(bodies) == 1


@pytest.mark.parametrize("label", ["", "person", "a b", "x" * 65])
async def test_a_label_follows_the_rule_of_names(tmp_path: Path, label: str) -> None:
    async with open_store(tmp_path / "s.db") as store:
        with pytest.raises(BadLabel):
            await store.database.write(lambda tx: principals.create_token(tx, label, NOON_MS))
