"""What a world of the suite association costs at a scale: seconds of each step, and the peak memory of this process.

    python benchmarks/association/world.py 2000
    python benchmarks/association/world.py 200000      # one process per scale, so that the peak is its own

``json-files`` and ``sqlite`` are the forms as ``memassay build association`` writes them, with their check.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from memassay.core.contracts import BuildContext
from memassay.core.types import Corpus, StoreRef
from memassay.suites.association.forms.json_files import JsonFiles
from memassay.suites.association.forms.sqlite import Sqlite
from memassay.suites.association.truth import Links
from memassay.suites.association.world import LAST_DAY, make_world

TYPES = ("INDUSTRY_ALIGNMENT", "SPECIALTY_MATCH", "LOCATION_FIT")
ASKED = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scale", type=int)
    scale = parser.parse_args().scale
    steps: dict[str, float] = {}
    last = time.perf_counter()

    def done(step: str) -> None:
        nonlocal last
        now = time.perf_counter()
        steps[step], last = now - last, now

    world = make_world(scale=scale)
    done("world")
    digest = world.digest
    done("digest")
    corpus = Corpus(id="world", documents=(), native=world, digest=digest)
    for name, form in (("json-files", JsonFiles()), ("sqlite", Sqlite())):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "store"
            place.mkdir()
            form.build(corpus, place, BuildContext())
            done(f"{name}, written")
            form.verify(StoreRef(key="x", location=str(place)), corpus)
            done(f"{name}, checked")
    state = world.state(LAST_DAY)
    links = Links(state)
    done("index of links")
    edges = sum(links.counts().values())
    done("edges counted")
    talents = [key for key, node in state.items() if node.label == "Talent"][:ASKED]
    for key in talents:
        links.others(key, TYPES, "Company")
    done(f"{len(talents)} talents asked")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"scale {scale:,}: {len(state):,} alive on the last day, {edges:,} edges, facts {digest}, peak {peak:,.0f} MB"
    )
    for step, seconds in steps.items():
        print(f"  {step:<22} {seconds:8.2f} s")


if __name__ == "__main__":
    main()
