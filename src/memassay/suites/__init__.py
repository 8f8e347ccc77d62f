"""The benchmarks: data, tasks, graders, controls; never a runner, a log, an interval or a report."""
