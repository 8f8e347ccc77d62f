"""The written forms of a world: a folder of JSON files, a database file, and whether all forms say the same."""

from memassay.suites.association.forms.equivalence import equivalent
from memassay.suites.association.forms.json_files import JsonFiles
from memassay.suites.association.forms.sqlite import Sqlite

__all__ = ["JsonFiles", "Sqlite", "equivalent"]
