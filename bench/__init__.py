"""The benchmark harness, which runs one workload on many targets and compares them within a run (`python -m bench
--help`).
"""
