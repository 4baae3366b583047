"""What can go wrong in a way that the person who runs the benchmark must know."""


class BenchmarkError(Exception):
    """Something that makes figures worthless; the message says what, for the person who started the run."""


class NotMeasurableError(BenchmarkError):
    """This machine cannot measure this; nothing is broken."""
