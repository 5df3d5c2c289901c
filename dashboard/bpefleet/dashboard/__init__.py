"""The dashboard: shows every run of a Redis as a page and as metrics, and takes requests to runs.

It reads the snapshots that producers prepare, never payloads or results.
"""
