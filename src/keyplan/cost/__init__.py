"""The cost of designs: capacity units of requests for declared or actual sizes, and price lists with dates."""
