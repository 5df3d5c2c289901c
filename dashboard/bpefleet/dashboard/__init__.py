"""The dashboard: shows the runs of a Redis as pages and metrics, and passes requests to them.

It reads the snapshots that producers prepare, never payloads or results.
"""
