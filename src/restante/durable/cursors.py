"""A cursor is a sequence of one store. One from elsewhere, or from the future, starts again at the oldest."""

from dataclasses import dataclass

from restante.durable.db.database import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where a page starts."""

    after: int
    store_id: str
    reset_reason: str | None
    """`other_store` or `ahead_of_store` where the page starts at the oldest message instead."""


def resolve(tx: Transaction, after: int, store_id: str | None) -> Cursor:
    """Judge a cursor that a caller kept."""
    reason = None
    if store_id is not None and store_id != tx.store_id:
        reason = "other_store"
    elif after > 0 and after > newest_sequence(tx):
        reason = "ahead_of_store"
    return Cursor(after=after if reason is None else 0, store_id=tx.store_id, reset_reason=reason)


def newest_sequence(tx: Transaction) -> int:
    """The sequence of the newest commit that took one."""
    row = tx.first("SELECT sequence FROM store")
    assert row is not None  # noqa: S101  # the migration made the row
    return row["sequence"]
