"""Installs the programs of other people that memassay can drive: ``make peers``.

Each version has a folder of its own in ``$MEMASSAY_PEERS`` (``~/.cache/memassay/peers``), outside of the checkout; one
that is there is left alone. A folder appears when it is complete; a build that was interrupted goes on where it was.
Needs Python alone. Prints a line for each program, and ends with 1 if an installation failed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence

from memassay.core.peers import PEERS, Peer, claude_package, peers_folder


def main() -> int:
    """Install what can be installed here."""
    iwe, iwec, claude = PEERS["iwe"], PEERS["iwec"], PEERS["claude"]
    target = str(peers_folder() / ".building")
    crates = [f"{peer.name}@{peer.version}" for peer in (iwe, iwec)]
    build = ["cargo", "install", "--quiet", "--locked", "--target-dir", target, *crates, "--root"]
    done = install([iwe, iwec], build, note="a first build takes half an hour on two cores")
    if done:
        shutil.rmtree(target, ignore_errors=True)
    package = f"{claude_package()}@{claude.version}"
    # Its terms are its maker's: it is fetched here and never handed on. What it would run at its installation is left.
    fetch = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", package, "--prefix"]
    return 0 if install([claude], fetch, note="400 MB on disk") and done else 1


def install(peers: Sequence[Peer], command: Sequence[str], *, note: str) -> bool:
    """Install programs of one folder by a command, to which the folder is added; False if it failed."""
    names = " and ".join(f"{peer.name} {peer.version}" for peer in peers)
    folder = peers_folder() / peers[0].folder
    if all(peer.place.is_file() for peer in peers):
        return say(f"{names}: there, in {folder}")
    if shutil.which(command[0]) is None:
        return say(f"{names}: skipped, since {command[0]} is not installed; what needs it is skipped as well")
    say(f"{names}: installing with {command[0]} ({note}) ...")
    working = folder.with_name(f".{folder.name}.part")
    working.mkdir(parents=True, exist_ok=True)
    ended = subprocess.run([*command, str(working)], stdin=subprocess.DEVNULL, check=False).returncode
    missing = [peer.path for peer in peers if not (working / peer.path).is_file()]
    if ended != 0 or missing:
        why = f"{command[0]} ended with {ended}" if ended else f"{command[0]} left no {missing[0]}"
        say(f"{names}: FAILED, {why}; run make peers again to go on.")
        return False
    shutil.rmtree(folder, ignore_errors=True)
    working.rename(folder)
    return say(f"{names}: installed, in {folder}")


def say(line: str) -> bool:
    """Print a line at once."""
    print(line, flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
