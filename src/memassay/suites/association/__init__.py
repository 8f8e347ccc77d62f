"""The association benchmark: one generated world, three forms of it, truth that can be run, a gate fixed beforehand."""
