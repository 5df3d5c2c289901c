"""Who is answered: hosts, origins, tokens, connections."""
