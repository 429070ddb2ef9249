"""Programs that are run under torch.profiler to make traces. Needs torch (the extra ``generate``); tracekit itself never imports this package."""
