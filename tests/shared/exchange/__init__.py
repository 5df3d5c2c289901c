"""The places where counts are exchanged."""
