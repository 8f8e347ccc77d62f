"""memassay: which memory should my agent use? Measured, paired, with honest error bars."""

from memassay.version import __version__

__all__ = ["__version__"]
