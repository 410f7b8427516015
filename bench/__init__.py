"""The benchmark harness: one workload, many targets, ratios in one run (`python -m bench --help`)."""
