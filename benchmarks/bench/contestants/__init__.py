"""The servers that are measured. A contestant is a way to start one; a server is one that runs."""
