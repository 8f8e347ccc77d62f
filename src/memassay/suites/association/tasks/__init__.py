"""The questions: five kinds, drawn from a world under the same guards."""

from memassay.suites.association.tasks.build import drafts_of, smallest_scale, tasks_of
from memassay.suites.association.tasks.file import file_of, write_tasks
from memassay.suites.association.tasks.pilot import (
    CAP,
    FLOOR,
    Pilot,
    fingerprint,
    judged,
    load_pilot,
    read_pilot,
    unstamped,
    write_pilot,
)
from memassay.suites.association.tasks.record import KINDS, Draft, Kind, targets_of

__all__ = [
    "CAP",
    "FLOOR",
    "KINDS",
    "Draft",
    "Kind",
    "Pilot",
    "drafts_of",
    "file_of",
    "fingerprint",
    "judged",
    "load_pilot",
    "read_pilot",
    "smallest_scale",
    "targets_of",
    "tasks_of",
    "unstamped",
    "write_pilot",
    "write_tasks",
]
