"""The store: one small protocol, and the engines that keep it."""
