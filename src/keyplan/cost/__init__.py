"""The cost of designs: capacity units of requests, estimates of the monthly cost, and dated price files."""
