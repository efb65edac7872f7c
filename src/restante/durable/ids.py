"""Ids: a prefix that says what it is, and 128 random bits."""

import secrets


def new_id(prefix: str) -> str:
    """`prefix`, a dash and 32 lower-case hexadecimal digits."""
    return f"{prefix}-{secrets.token_hex(16)}"
