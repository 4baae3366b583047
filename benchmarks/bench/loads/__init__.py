"""Load generators, and what they say about a measured interval."""
