"""Installs the programs of other people that memassay can drive: ``make peers``.

Each version has a folder of its own in ``$MEMASSAY_PEERS`` (``~/.cache/memassay/peers``), outside of the checkout; one
that is there is left alone. A folder appears when it is complete; a build that was interrupted goes on where it was. A
program that comes built has to have the digest that ``core/peers.py`` holds.
Needs Python alone. Prints a line for each program, and ends with 1 if an installation failed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from memassay.core.peers import PEERS, Peer, claude_package, peers_folder

# As a release is built but for this, and timed so in docs/performance.md: a first build has to fit CI. A lower
# opt-level saved nothing.
BUILD = {"CARGO_PROFILE_RELEASE_LTO": "off"}


def main() -> int:
    """Install what can be installed here; what is quick comes first."""
    iwe, iwec, claude = PEERS["iwe"], PEERS["iwec"], PEERS["claude"]
    package = f"{claude_package()}@{claude.version}"
    # Its terms are its maker's: it is fetched here and never handed on. What it would run at its installation is left.
    fetch = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", package, "--prefix"]
    fetched = install([claude], fetch, note="400 MB on disk")
    target = str(peers_folder() / ".building")
    crates = [f"{peer.name}@{peer.version}" for peer in (iwe, iwec)]
    build = ["cargo", "install", "--quiet", "--locked", "--target-dir", target, *crates, "--root"]
    note = "a first build takes ten minutes on two cores, half an hour on busy ones"
    built = install([iwe, iwec], build, note=note, **BUILD)
    if built:
        shutil.rmtree(target, ignore_errors=True)
    return 0 if fetched and built else 1


def install(peers: Sequence[Peer], command: Sequence[str], *, note: str, **variables: str) -> bool:
    """Install programs of one folder by a command, to which the folder is added; False if it failed.

    Args:
        peers: the programs.
        command: what installs them.
        note: what a person wants to know before it begins.
        variables: added to the command's environment.
    """
    names = " and ".join(f"{peer.name} {peer.version}" for peer in peers)
    folder = peers_folder() / peers[0].folder
    if all(is_right(peer, folder) for peer in peers):
        return say(f"{names}: there, in {folder}")
    if shutil.which(command[0]) is None:
        return say(f"{names}: skipped, since {command[0]} is not installed; what needs it is skipped as well")
    say(f"{names}: installing with {command[0]} ({note}) ...")
    working = folder.with_name(f".{folder.name}.part")
    working.mkdir(parents=True, exist_ok=True)
    env = {**variables, **os.environ}
    ended = subprocess.run([*command, str(working)], stdin=subprocess.DEVNULL, env=env, check=False).returncode
    wrong = [peer.path for peer in peers if not is_right(peer, working)]
    if ended != 0 or wrong:
        why = f"{command[0]} ended with {ended}" if ended else f"{command[0]} left no {wrong[0]}"
        if not ended and (working / wrong[0]).is_file():
            why = f"{wrong[0]} has another sha256 than the one that is pinned"
            shutil.rmtree(working)
        say(f"{names}: FAILED, {why}; run make peers again to go on.")
        return False
    shutil.rmtree(folder, ignore_errors=True)
    working.rename(folder)
    return say(f"{names}: installed, in {folder}")


def is_right(peer: Peer, folder: Path) -> bool:
    """Whether the program is in the folder, with the digest that is pinned where one is."""
    program = folder / peer.path
    if not program.is_file() or not peer.sha256:
        return program.is_file()
    with program.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest() == peer.sha256


def say(line: str) -> bool:
    """Print a line at once."""
    print(line, flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
