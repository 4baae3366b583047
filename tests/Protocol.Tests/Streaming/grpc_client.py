"""One call to the service of GrpcEndpoints.cs: grpc_client.py ADDRESS stream|interleave|cancel|deadline

Prints how the call ended. Messages are bytes, so nothing has to be generated.
"""

import queue
import sys

import grpc

STREAM_COUNT = 1000
INTERLEAVE_COUNT = 300
LIMIT_SECONDS = 12


def main(address, mode):
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        reverse = channel.stream_stream("/test.Test/Reverse")
        wait = channel.stream_stream("/test.Test/Wait")
        if mode == "stream":
            call = reverse((message(i) for i in range(STREAM_COUNT)), timeout=LIMIT_SECONDS)
            answered = sum(1 for i, answer in enumerate(call) if check(i, answer))
            print(f"{answered} answered, {call.code().name}")
        elif mode == "interleave":
            requests = queue.SimpleQueue()
            call = reverse(iter(requests.get, None), timeout=LIMIT_SECONDS)
            for i in range(INTERLEAVE_COUNT):
                requests.put(message(i))
                check(i, next(call))
            requests.put(None)
            assert next(call, None) is None
            print(f"{INTERLEAVE_COUNT} answered, {call.code().name}")
        else:
            # Until the head of the answer shows that the call has reached the server: a busy machine may miss a short deadline before.
            seconds = 0.25 if mode == "deadline" else LIMIT_SECONDS
            call = wait(endless(), timeout=seconds)
            while not call.initial_metadata():
                seconds *= 2
                call = wait(endless(), timeout=seconds)
            if mode == "cancel":
                call.cancel()
            try:
                next(call)
            except (grpc.RpcError, grpc.FutureCancelledError):
                pass
            print(call.code().name)


def endless():
    return iter(queue.SimpleQueue().get, None)


def message(i):
    return bytes((i + j) % 251 for j in range(i * 7 % 3000))


def check(i, answer):
    assert answer == message(i)[::-1], f"The answer to message {i} is wrong."
    return True


main(*sys.argv[1:])
