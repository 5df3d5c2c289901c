"""How plots are drawn."""
