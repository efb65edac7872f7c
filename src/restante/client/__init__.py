"""For programs that talk to a server of restante."""

from restante.client.client import Client

__all__ = ["Client"]
