"""The Python interface, as `bpefleet` exports it."""

from bpefleet.producer.api.runs import merge, resume, status
from bpefleet.producer.api.train import train, train_async
from bpefleet.producer.run.pipeline import RunResult

__all__ = ["RunResult", "merge", "resume", "status", "train", "train_async"]
