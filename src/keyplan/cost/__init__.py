"""The cost of designs: units of requests from declared or real sizes, and dated prices."""
