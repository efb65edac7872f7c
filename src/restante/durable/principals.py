"""A principal is an authenticated client, with a label and one or more tokens."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from restante.durable.callers import Caller
from restante.durable.db.database import Transaction
from restante.durable.ids import new_id
from restante.errors import BadAgentName, BadLabel, NotFound, Unauthorized
from restante.names import check_name, folded

TOKENS_TOPIC = "tokens"
"""Woken when a token stops being good."""

_SECRET_BYTES = 32
_NO_DIGEST = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token at its making: the only moment at which anybody sees it."""

    principal_id: str
    token_id: str
    token: str
    label: str

    def shape(self) -> dict[str, object]:
        """Ready for JSON."""
        return {
            "principal_id": self.principal_id,
            "token_id": self.token_id,
            "token": self.token,
            "label": self.label,
        }


def create_token(tx: Transaction, label: str, now_ms: int) -> NewToken:
    """A new token of the principal that has exactly this label, which is made if there is none.

    Raises `BadLabel`, also for a label that a hosted agent has, or another principal in other letter case.
    """
    check_name(label)
    principal_id = _principal(tx, label, now_ms)
    token = f"restante_{secrets.token_urlsafe(_SECRET_BYTES)}"
    token_id = new_id("token")
    tx.run(
        "INSERT INTO tokens (token_id, principal_id, digest, created_at) VALUES (?, ?, ?, ?)",
        token_id,
        principal_id,
        digest_of(token),
        now_ms,
    )
    return NewToken(principal_id=principal_id, token_id=token_id, token=token, label=label)


def check_agent_names(tx: Transaction, names: Iterable[str]) -> None:
    """Raise `BadAgentName` for an agent that would have the name of a principal, in any letter case."""
    for name in names:
        row = tx.first("SELECT label FROM principals WHERE folded = ?", folded(name))
        if row is not None:
            raise BadAgentName(
                f"The agent {name!r} has the name of the principal {row['label']!r}, which has a token of this store. "
                "Rename the agent: nobody could tell the two apart.",
                field=f"agents.{name}",
            )


def revoke_token(tx: Transaction, token_id: str, now_ms: int) -> None:
    """From the commit on it opens nothing. Raises `NotFound`."""
    if not tx.run("UPDATE tokens SET revoked_at = ? WHERE token_id = ? AND revoked_at IS NULL", now_ms, token_id):
        raise NotFound("No token that is still good has that id.")
    tx.wake(TOKENS_TOPIC)


def get_caller(tx: Transaction, token: str) -> Caller:
    """Whose token this is. Raises `Unauthorized`, the same for every token that does not open."""
    digest = digest_of(token)
    row = tx.first(
        "SELECT p.principal_id, p.label, t.digest FROM tokens t JOIN principals p ON p.principal_id = t.principal_id"
        " WHERE t.digest = ? AND t.revoked_at IS NULL",
        digest,
    )
    if not hmac.compare_digest(digest, _NO_DIGEST if row is None else row["digest"]) or row is None:
        raise Unauthorized("Send a good token as `Authorization: Bearer <token>`; `restante token create` makes one.")
    return Caller(kind="principal", id=row["principal_id"], name=row["label"])


def digest_of(token: str) -> str:
    """What is stored of a token: it is 256 random bits, so one SHA-256 hides it for good."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def _principal(tx: Transaction, label: str, now_ms: int) -> str:
    found = tx.first("SELECT principal_id, label FROM principals WHERE folded = ?", folded(label))
    if found is not None and found["label"] != label:
        raise BadLabel(
            f"There is the principal {found['label']!r} already, and names differ in more than letter case. "
            "For a further token of it write it so; for somebody else choose another label.",
            field="label",
        )
    if found is not None:
        return found["principal_id"]
    agent = tx.first("SELECT name FROM agents WHERE folded = ? AND archived_at IS NULL", folded(label))
    if agent is not None:
        raise BadLabel(
            f"{agent['name']!r} is an agent of this store, and nobody else sends under its name. Choose another label.",
            field="label",
        )
    principal_id = new_id("principal")
    tx.run("INSERT INTO principals VALUES (?, ?, ?, ?)", principal_id, label, folded(label), now_ms)
    return principal_id
