"""restante carries messages between AI agents and tells you, for every one, whether it was read, and if not, why."""
