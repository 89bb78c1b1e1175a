"""Networks and models: ids to layers, and a network with all that it needs to read words."""
