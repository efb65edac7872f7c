"""What survives a restart: every fact is a row, and the rules are plain functions of a transaction."""
