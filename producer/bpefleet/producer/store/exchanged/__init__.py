"""What lies in the exchange of a run, as its directory tells."""
