"""Every data file that memassay can fetch, pinned by commit, size and checksum.

Nothing of these files is in the repository or in the wheel: they are downloaded from where their authors put them, or
copied from a local file that proves to be the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from memassay.core.errors import UnknownName


@dataclass(frozen=True, slots=True)
class Entry:
    """One data file.

    Attributes:
        name: what it is called on the command line (``memassay data fetch NAME``).
        suite: the suite that reads it.
        url: where it is downloaded from, pinned at a commit.
        size: bytes.
        sha256: checksum of the whole file, lower-case hexadecimal.
        licence: its licence; it is the file's, not memassay's.
        attribution: whom to name.
        file_name: what it is called in the data folder.
        note: one line on what it is.
    """

    name: str
    suite: str
    url: str
    size: int
    sha256: str
    licence: str
    attribution: str
    file_name: str
    note: str = ""


def _raw(repository: str, commit: str, path: str) -> str:
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"


CATALOGUE: Mapping[str, Entry] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            Entry(
                name="locomo",
                suite="locomo",
                url=_raw("snap-research/LoCoMo", "3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376", "data/locomo10.json"),
                size=2_805_274,
                sha256="79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
                licence="CC BY-NC 4.0",
                attribution="Maharana et al., Evaluating Very Long-Term Conversational Memory of LLM Agents, ACL 2024",
                file_name="locomo10.json",
                note="ten long conversations with 1,986 questions",
            ),
            Entry(
                name="locomo-audit",
                suite="locomo",
                url=_raw("dial481/locomo-audit", "9493fb4b4af4256ed17a18e8fd0b3cfdeec29539", "errors.json"),
                size=150_552,
                sha256="f298ef46263fada20688a1d672be37d4f488c6da3b19343eea55ae5c1b5fe55e",
                licence="CC BY-NC 4.0",
                attribution="dial481/locomo-audit",
                file_name="locomo_audit_errors.json",
                note="156 label errors of LOCOMO's categories 1 to 4, for --corrections",
            ),
        )
    }
)


def entry(name: str) -> Entry:
    """The entry called ``name``.

    Raises:
        UnknownName: there is none, with the closest names.
    """
    try:
        return CATALOGUE[name]
    except KeyError:
        raise UnknownName("data set", name, CATALOGUE) from None
