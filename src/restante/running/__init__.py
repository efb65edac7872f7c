"""One process: the configuration, the agents, and the platform that runs their turns."""
