"""The counting side: RQ workers that read byte ranges, count pre-tokens and publish the counts.

`python -m bpefleet.worker --redis URL` serves every run on that Redis.
"""
