"""How fast restante is, as ratios to floors that are measured in the same run on the same machine."""
