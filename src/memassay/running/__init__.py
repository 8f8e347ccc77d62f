"""From an experiment to a summary: plan, build, drive, judge, summarise, compare."""
