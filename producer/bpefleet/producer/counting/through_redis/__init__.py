"""The chunks done by the workers of a fleet: queued, their answers heard and stored."""
