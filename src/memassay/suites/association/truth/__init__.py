"""What links two entities: ten rules over their fields, and an index that answers for a whole day of a world."""

from memassay.suites.association.truth.links import Links
from memassay.suites.association.truth.rules import RULES, TASK_RULES, TYPES, Rule, haversine, holds, linked, score

__all__ = ["RULES", "TASK_RULES", "TYPES", "Links", "Rule", "haversine", "holds", "linked", "score"]
