"""A certificate for 127.0.0.1, for servers that do not make one themselves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.machine import run


@dataclass(frozen=True)
class Certificate:
    """The files of a certificate and its key, in PEM."""

    path: Path
    key: Path


def make(directory: Path) -> Certificate:
    """A certificate that is signed by itself, with a key of P-256 as PlaintextServer's has."""
    certificate = Certificate(directory / "certificate.pem", directory / "key.pem")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", str(certificate.key))
    run(["openssl", "req", "-x509", *key, "-subj", "/CN=127.0.0.1", "-out", str(certificate.path)], "the making of a certificate")
    return certificate
