"""Does a correction take the place of what it corrects, and nothing else? Cosines of pairs of texts, per threshold.

    python benchmarks/platform/supersede.py
    python benchmarks/platform/supersede.py --published FOLDER --embedder minilm hash e5

The texts are what an agent without a model keeps of a prompt (``memassay.agents.rules``). Corrections, which must be
caught, are (taught, correction) of one protocol. Everything else belongs to the same owner and must not match:

- ``same form``: taught or correction, with another fact on the same dataset by the same template (interference);
- ``same dataset``: the same by another template (of imported protocols, all that is taught on the dataset);
- ``another dataset``: the same with facts on other datasets, and what two protocols of one template teach; the platform
  only compares these where the new record is filed on nothing;
- ``answer``: taught or correction, with the computed answer and its question as a note on no dataset;
- ``fact and answer``: the same where the note also repeats the fact, as the script ``saves-its-answer`` writes it.

The threshold is chosen on the pairs of one generator seed, by the rule of ``chosen``, and reported on others. It is
chosen four times: on all pairs; on those without ``fact and answer``; on corrections and what stands on the same
dataset alone, which is all that ``supersede_same_class`` lets the platform compare; and on these without ``same form``.
In the end protocols are taught and corrected through the platform itself at each of these thresholds.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from memassay.agents.rules.prompts import Told, read
from memassay.platform.service import Platform
from memassay.platform.settings import Settings
from memassay.platform.shapes import Caller, CaptureRequest, CaptureResult, Identity
from memassay.retrieval.embedders import EMBEDDERS, Embedder, embedder
from memassay.suites.lifecycle.loading import load_protocols
from memassay.suites.lifecycle.protocol import Protocol, Question
from memassay.suites.lifecycle.suite import SEED
from memassay.suites.lifecycle.templates.build import generate
from memassay.suites.lifecycle.warehouse import make_warehouse

CHOOSING_SEED = 11
"""Not the seed of the suite, whose protocols are reported on."""
CORRECTION, CANONICAL = "corrections", "in the fact's words"
FORM, SAME, ANOTHER = "same form", "same dataset", "another dataset"
ANSWER, FACT_AND_ANSWER = "answer", "fact and answer"
FALSE = (FORM, SAME, ANOTHER, ANSWER, FACT_AND_ANSWER)
POOLS = {
    "all pairs": FALSE,
    "without fact and answer": (FORM, SAME, ANOTHER, ANSWER),
    "the same dataset alone": (FORM, SAME),
    "the same dataset, other forms alone": (SAME,),
}
PLAYED = 36
"""As many as the suite has."""
SHOWN = [at / 100 for at in (70, 75, 80, *range(85, 100))]

Pairs = dict[str, list[tuple[str, str]]]
Cosines = dict[str, list[float]]


class Kept(NamedTuple):
    """What an agent keeps of a protocol: what it is taught, and the correction or None, with their questions."""

    protocol: Protocol
    taught: tuple[str, Question]
    correction: tuple[str, Question] | None

    @property
    def facts(self) -> list[tuple[str, Question]]:
        return [self.taught, *([self.correction] if self.correction else [])]


def kept(protocol: Protocol) -> Kept:
    update = protocol.update or (protocol.extras.correction if protocol.extras else None)
    correction = None if update is None else (content(update.prompt), update.recall)
    return Kept(protocol, (content(protocol.teach.prompt), protocol.recall), correction)


def content(prompt: str) -> str:
    """What the rules agent captures of a prompt."""
    told = read(prompt)
    assert isinstance(told, Told), prompt
    return told.fact


def pairs_of(protocols: Sequence[Protocol]) -> Pairs:
    """Every pair of texts by its kind."""
    found: Pairs = {kind: [] for kind in (CORRECTION, CANONICAL, *FALSE)}
    every = [kept(protocol) for protocol in protocols]
    for one in every:
        taught = one.taught[0]
        if one.correction is not None:
            found[CORRECTION].append((taught, one.correction[0]))
        if one.protocol.update is not None and one.correction is not None:
            said = one.protocol.update.fact
            if said != one.correction[0]:
                found[CANONICAL].append((one.protocol.fact, said))
        for place, told in enumerate(one.protocol.extras.interference if one.protocol.extras else ()):
            # The generator begins with the template of the protocol itself.
            kind = ANOTHER if told.entity_urn not in one.protocol.entities else SAME if place else FORM
            found[kind] += [(fact, content(told.prompt)) for fact, _ in one.facts]
        for fact, question in one.facts:
            answer = f"The answer was {key(question)}."
            found[ANSWER].append((fact, f"{question.prompt} {answer}"))
            found[FACT_AND_ANSWER].append((fact, f"{fact} {answer}"))
    for one, other in itertools.combinations(every, 2):
        if one.protocol.template == other.protocol.template:
            kind = SAME if set(one.protocol.entities) & set(other.protocol.entities) else ANOTHER
            found[kind] += neighbours(one, other)
    return found


def neighbours(one: Kept, other: Kept) -> Iterator[tuple[str, str]]:
    """What two protocols teach; of imported ones, of which few are corrected, also with the corrections."""
    if one.protocol.template:
        yield one.taught[0], other.taught[0]
        return
    for (first, _), (second, _) in itertools.product(one.facts, other.facts):
        yield first, second


def key(question: Question) -> str:
    grading = question.grading
    return grading.aliases[0] if grading.value is None else f"{grading.value:.2f}".removesuffix(".00")


def cosines_of(pairs: Pairs, model: Embedder) -> Cosines:
    """As the platform computes them: of single texts, with six decimals."""
    texts = sorted({text for some in pairs.values() for pair in some for text in pair})
    vectors = {text: model.embed([text])[0] for text in texts}
    return {
        kind: [round(float(vectors[one] @ vectors[other]), 6) for one, other in some] for kind, some in pairs.items()
    }


def at_least(values: Iterable[float], threshold: float) -> int:
    return sum(value >= threshold for value in values)


def chosen(cosines: Cosines, kinds: Sequence[str]) -> tuple[float, float]:
    """Two thresholds: the rule's, and the one with the fewest false and missed together.

    The rule: the most corrections caught with no false match, in the middle of the gap between the highest false cosine
    and the lowest correction above it; where not one correction is above, the fewest false and missed together.
    """
    right, wrong = sorted(cosines[CORRECTION]), [value for kind in kinds for value in cosines[kind]]
    every = sorted({*right, *wrong})
    gaps = [(low, high) for low, high in itertools.pairwise([-1.0, *every])]
    fewest = min(gaps, key=lambda gap: (at_least(wrong, gap[1]) + len(right) - at_least(right, gap[1]), -gap[1]))
    highest = max(wrong, default=-1.0)
    above = next((value for value in right if value > highest), None)
    gap = fewest if above is None else (highest, above)
    return middle(*gap), middle(*fewest)


def middle(low: float, high: float) -> float:
    """The middle of a gap, with as few decimals as stay inside."""
    at = (low + high) / 2
    return next(short for digits in range(2, 8) if low < (short := round(at, digits)) <= high)


def row(cosines: Cosines, threshold: float) -> str:
    counts = (f"{at_least(cosines[kind], threshold)}" for kind in cosines if cosines[kind])
    return f"| {threshold:.4f}".rstrip("0").ljust(6, "0") + " | " + " | ".join(counts) + " |"


def table(cosines: Cosines, thresholds: Iterable[float]) -> str:
    kinds = [kind for kind in cosines if cosines[kind]]
    heads = [f"{kind} ({len(cosines[kind])})" for kind in kinds]
    lines = ["| threshold | " + " | ".join(heads) + " |", "| --- " * (len(kinds) + 1) + "|"]
    return "\n".join([*lines, *(row(cosines, threshold) for threshold in sorted(set(thresholds)))])


def play(protocols: Sequence[Protocol], name: str, threshold: float) -> str:
    """The same texts through the platform: each protocol taught, the other facts, and the correction, by one owner."""
    settings = Settings(embedder=name, supersede=threshold, similar=min(threshold, 0.75), durable=False)
    lost = caught = others = 0
    with tempfile.TemporaryDirectory() as folder, Platform(Path(folder) / "workspace", settings) as platform:
        for protocol in protocols:
            who = protocol.id
            identity = Identity(user_id=who, email=f"{who}@example.org", name=who, roles=("agent",))
            caller = Caller(identity=identity, session=platform.platform_info(identity).session_id, purpose="benchmark")

            def keep(text: str, urn: str, caller: Caller = caller) -> CaptureResult:
                request = CaptureRequest(type="schema_entity", content=text, entity_urns=[urn])
                return platform.memory_capture(caller, request)

            one, extras = kept(protocol), protocol.extras
            taught = keep(one.taught[0], protocol.entity_urn).id
            told = [keep(content(each.prompt), each.entity_urn) for each in (extras.interference if extras else ())]
            gone = [id for each in told for id in each.superseded_ids]
            if one.correction is not None:
                gone_then = keep(one.correction[0], protocol.entity_urn).superseded_ids
                caught += taught in gone_then
                others += len(set(gone_then) - {taught})
            lost += taught in gone
            others += len(set(gone) - {taught})
    return (
        f"{threshold}: {caught} corrections caught, {lost} taught facts lost before, {others} other records superseded"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedder", nargs="+", choices=sorted(EMBEDDERS), default=["minilm", "hash"])
    parser.add_argument("--protocols", type=int, default=108, help="generated from each seed")
    parser.add_argument("--published", type=Path, help="a folder of published protocols")
    args = parser.parse_args()
    seeds = {f"seed {seed}": seed for seed in (CHOOSING_SEED, SEED)}
    sets = {
        name: pairs_of(generate(make_warehouse(seed, args.protocols), args.protocols)) for name, seed in seeds.items()
    }
    if args.published:
        sets["published"] = pairs_of(load_protocols(args.published))
    for name in args.embedder:
        model = embedder(name)
        cosines = {title: cosines_of(pairs, model) for title, pairs in sets.items()}
        print(f"\n# {name} (default threshold {Settings().supersede:.2f})")
        choices = []
        for pool, kinds in POOLS.items():
            rule, fewest = chosen(cosines[f"seed {CHOOSING_SEED}"], kinds)
            choices += [rule, fewest]
            print(f"chosen on seed {CHOOSING_SEED}, {pool}: {rule} by the rule; fewest false and missed at {fewest}")
        for title, values in cosines.items():
            print(f"\n{title}\n\n{table(values, [*SHOWN, *choices])}", flush=True)
        print(f"\n{PLAYED} protocols of seed {SEED} through the platform")
        for threshold in sorted({Settings().supersede, *choices}):
            print(play(generate(make_warehouse(SEED, PLAYED), PLAYED), name, threshold), flush=True)


if __name__ == "__main__":
    main()
