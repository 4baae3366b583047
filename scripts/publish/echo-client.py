#!/usr/bin/env python3
"""Sends random bytes to an echo server, ends its side, and compares what comes back: echo-client.py PORT|PATH BYTES

PORT is a TCP port on 127.0.0.1, PATH a Unix socket. Prints the SHA-256; fails when another comes back, or nothing for 20 seconds.
"""
import hashlib
import os
import socket
import sys
import threading

PATIENCE_SECONDS = 20


def connect(address):
    if address.isdecimal():
        return socket.create_connection(("127.0.0.1", int(address)), PATIENCE_SECONDS)
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(PATIENCE_SECONDS)
    client.connect(address)
    return client


def send(client, data):
    client.sendall(data)
    client.shutdown(socket.SHUT_WR)


def receive(client):
    received = hashlib.sha256()
    while piece := client.recv(65536):
        received.update(piece)
    return received.hexdigest()


def main():
    address, count = sys.argv[1], int(sys.argv[2])
    data = os.urandom(count)
    expected = hashlib.sha256(data).hexdigest()
    with connect(address) as client:
        # Both at once: the server stops reading while its own bytes wait for a reader.
        sender = threading.Thread(target=send, args=(client, data), daemon=True)
        sender.start()
        actual = receive(client)
        sender.join(PATIENCE_SECONDS)
    print(actual)
    return 0 if actual == expected else f"sent {expected}, received {actual}"


if __name__ == "__main__":
    sys.exit(main())
