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
        url: where it is downloaded from, pinned at a commit or at a snapshot of the web archive; "" for a file that has
            no address of its own and only comes from a local copy.
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


def _archived(snapshot: str, url: str) -> str:
    # "id_" asks the archive for the bytes as they were, without its own frame around them.
    return f"https://web.archive.org/web/{snapshot}id_/{url}"


_HOTPOT = "Yang et al., HotpotQA: A Dataset for Diverse, Explainable Multi-hop Question Answering, EMNLP 2018"

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
            # Size and checksum as huggingface/datasets (hotpot_qa/dataset_infos.json) and ParlAI publish them for the
            # original address. We have not compared them with this snapshot: fetch refuses it if it differs.
            Entry(
                name="hotpotqa",
                suite="hotpotqa",
                url=_archived(
                    "20260310132809", "http://curtis.ml.cmu.edu/datasets/hotpot/hotpot_dev_distractor_v1.json"
                ),
                size=46_320_117,
                sha256="4e9ecb5c8d3b719f624d66b60f8d56bf227f03914f5f0753d6fa1b359d7104ea",
                licence="CC BY-SA 4.0",
                attribution=_HOTPOT,
                file_name="hotpot_dev_distractor_v1.json",
                note="7,405 dev questions with ten pages each",
            ),
            Entry(
                name="hotpotqa-289",
                suite="hotpotqa",
                url="",
                size=1_808_658,
                sha256="5330b0764fa44a94c32e6b7ee70d89e574b31cec60ce36b7f08c8f2dc32f656d",
                licence="CC BY-SA 4.0",
                attribution=f"{_HOTPOT}; slices held by AdelWang/MIGRES and nakulbh/Meve-framework",
                file_name="hotpot_dev_289.jsonl",
                note="289 of the dev questions, merged from two public slices; no address, so --from FILE only",
            ),
            Entry(
                name="hotpotqa-200",
                suite="hotpotqa",
                url="",
                size=1_226_848,
                sha256="fbdd1b94e371947246fa018d1620ad81e539904134f0a43d058d230a6ef33f61",
                licence="CC BY-SA 4.0",
                attribution=f"{_HOTPOT}; slice held by UMass-Embodied-AGI/FlowCompile",
                file_name="hotpot_distractor_200.jsonl",
                note="200 train questions, for choosing anything tunable; no address, so --from FILE only",
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
