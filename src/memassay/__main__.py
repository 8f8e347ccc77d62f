"""``python -m memassay``."""

from memassay.cli.main import main

main()
