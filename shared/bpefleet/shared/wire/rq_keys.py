"""RQ's own Redis keys and fields, as far as anything of ours reads or writes them without RQ.

RQ is slow to import, and made for synchronous use. So who only looks asks Redis itself, and spells
what it asks for here. Tests hold each name to the installed RQ.

`rq:queue:<queue>`
    List of job ids. RQ in the producer appends; a worker takes from the head.

`rq:queue:<queue>:intermediate`
    List of job ids that a worker has taken and not yet begun, for milliseconds. RQ in the worker.

`rq:job:<job id>`
    Hash: a job, its state and its times. RQ in the producer writes it, RQ in the worker changes it;
    it expires some time after the job's end. Ours has further fields, see `keys`.

`rq:workers:<queue>`
    Set of the keys of workers that serve the queue. RQ in the worker; who is killed stays in it.

`rq:worker:<name>`
    Hash: a worker. RQ in the worker; it expires once the worker gives no more signs of life.

`rq:worker:<name>:executions`
    Set of `<job id>:<execution id>`: the attempts that a worker is at. RQ in the worker.
"""

from __future__ import annotations

from typing import Final

from bpefleet.shared.wire.keys import QUEUE

WAITING: Final = f"rq:queue:{QUEUE}"
"""The jobs that no worker has taken."""

TAKEN: Final = f"{WAITING}:intermediate"
"""The jobs on their way to a worker."""

WORKERS: Final = f"rq:workers:{QUEUE}"
"""The keys of the workers that serve the queue."""

STATUS: Final = "status"
"""Field of a job: `queued`, `started`, `finished`, `failed`, `stopped` or `canceled`."""

WORKER_NAME: Final = "worker_name"
"""Field of a job: who is at it, or was last."""

STARTED_AT: Final = "started_at"
"""Field of a job: when its last attempt began, by the worker's clock."""

QUEUED: Final = b"queued"
"""Status of a job that waits, also of one that a worker has just taken."""

STARTED: Final = b"started"
"""Status of a job that a work-horse is at."""

FAILED: Final = b"failed"
"""Status of a job whose last attempt failed."""

ENDED: Final = (b"finished", FAILED, b"stopped", b"canceled")
"""Status of a job that nobody is at any more."""

HOST: Final = "hostname"
"""Field of a worker: its machine."""

PID: Final = "pid"
"""Field of a worker: its process there."""

BIRTH: Final = "birth"
"""Field of a worker: when it started, by its clock."""

HEARD: Final = "last_heartbeat"
"""Field of a worker: its last sign of life, by its clock."""

SUCCEEDED: Final = "successful_job_count"
"""Field of a worker: attempts that ended well."""

UNSUCCESSFUL: Final = "failed_job_count"
"""Field of a worker: attempts that failed."""

WORKED: Final = "total_working_time"
"""Field of a worker: seconds that it was at work."""

_JOB: Final = b"rq:job:"
_WORKER: Final = "rq:worker:"


def job_key(job_id: str | bytes) -> bytes:
    """The hash of a job; an id found in Redis may be any bytes."""
    return _JOB + (job_id.encode() if isinstance(job_id, str) else job_id)


def worker_key(name: str) -> str:
    """The hash of a worker."""
    return f"{_WORKER}{name}"


def worker_name(key: bytes) -> bytes:
    """The name of the worker whose hash has this key."""
    return key.removeprefix(_WORKER.encode())


def executions_key(worker: bytes) -> bytes:
    """The attempts that a worker is at, by the key of its hash."""
    return worker + b":executions"
