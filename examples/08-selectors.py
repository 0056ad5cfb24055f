#!/usr/bin/env python3
"""08-selectors.py -- a lock in a program of another language: Python, with nothing but ctypes.

     08-selectors.py [URL [TICKS]]

The loop is Python's own (selectors). All that it polls of bowline is the pipe of bowline_wakeup_fd, without an epoll
descriptor or a timer. Every runtime that can wait for a pipe can do the same.

At first another client holds the lock; it releases the lock at the third tick. Then this client holds it for TICKS
ticks, renewed meanwhile, and releases it. Try file:?max-hold=300ms to see it lost.

BOWLINE_LIBRARY names the shared library, if the linker does not find it.
"""

import ctypes
import os
import selectors
import sys
import time
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p

OK, FOREVER, NO_THREAD = 0, -1, 2
ENDED, LOST = 1, 2
TICK = 0.05


class Error(ctypes.Structure):
    _fields_ = [("status", c_int32), ("system_errno", c_int32), ("server_code", c_char * 20), ("text", c_char * 240),
                ("loss", c_int32)]


class Options(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t), ("url", c_char_p), ("flags", c_uint32), ("lease_ms", c_uint32),
        ("reply_ms", c_uint32), ("max_hold_ms", c_int64), ("program", c_char_p), ("on_log", c_void_p),
        ("log_data", c_void_p),
    ]  # fmt: skip


class AcquireOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t), ("wait_ms", c_int64), ("max_hold_ms", c_int64), ("lease_ms", c_uint32),
        ("mode", c_uint32),
    ]  # fmt: skip


class Event(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t), ("kind", c_int32), ("reserved", c_int32), ("operation", c_void_p),
        ("hold", c_void_p), ("data", c_void_p),
    ]  # fmt: skip


def load():
    """The library with its argument types: without them ctypes would truncate pointers to int."""
    library = ctypes.CDLL(os.environ.get("BOWLINE_LIBRARY", "libbowline.so.0"))
    handle, out, error = c_void_p, POINTER(c_void_p), POINTER(Error)
    for name, *takes in [
        ("open", out, POINTER(Options), error),
        ("acquire", out, handle, c_char_p, POINTER(AcquireOptions), error),
        ("acquire_start", out, handle, c_char_p, POINTER(AcquireOptions), error),
        ("acquire_finish", out, handle, error),
        ("release", handle, error),
        ("release_start", out, handle, error),
        ("finish", handle, error),
        ("wakeup_fd", handle, error),
        ("dispatch", handle, c_int64, error),
        ("next_event", handle, POINTER(Event), error),
        ("hold_check", handle, error),
    ]:
        function = getattr(library, "bowline_" + name)
        function.argtypes, function.restype = takes, c_int
    library.bowline_close.argtypes, library.bowline_close.restype = [handle], None
    library.bowline_status_name.argtypes, library.bowline_status_name.restype = [c_int], c_char_p
    return library


bowline = load()
error = Error()


def need(status):
    if status < OK:
        sys.exit(f"08-selectors: {error.text.decode()}")
    return status


def open_client(url):
    client = c_void_p()
    options = Options(size=ctypes.sizeof(Options), url=url.encode(), flags=NO_THREAD)
    need(bowline.bowline_open(byref(client), byref(options), byref(error)))
    return client


class Program:
    def __init__(self, url, ticks):
        self.left, self.waited, self.status = ticks, 0, None
        self.client, self.rival = open_client(url), open_client(url)
        self.theirs, self.hold, self.operation = c_void_p(), c_void_p(), c_void_p()
        need(bowline.bowline_acquire(byref(self.theirs), self.rival, b"08-selectors", None, byref(error)))
        forever = AcquireOptions(size=ctypes.sizeof(AcquireOptions), wait_ms=FOREVER)
        need(bowline.bowline_acquire_start(
            byref(self.operation), self.client, b"08-selectors", byref(forever), byref(error)))  # fmt: skip

    def woken(self):
        """The pipe is readable: dispatches, and takes the events one by one."""
        event = Event(size=ctypes.sizeof(Event))
        need(bowline.bowline_dispatch(self.client, 0, byref(error)))
        while need(bowline.bowline_next_event(self.client, byref(event), byref(error))):
            if event.kind == ENDED and not self.hold:
                need(bowline.bowline_acquire_finish(byref(self.hold), event.operation, byref(error)))
                print("ours")
            elif event.kind == ENDED:
                self.status = bowline.bowline_finish(event.operation, byref(error))
                print("release:", bowline.bowline_status_name(self.status).decode())
            elif event.kind == LOST:
                bowline.bowline_hold_check(event.hold, byref(error))
                print("lost: the work is stopped")
                self.release()

    def release(self):
        self.left = 0
        need(bowline.bowline_release_start(byref(self.operation), self.hold, byref(error)))

    def tick(self):
        if not self.hold:
            print("tick: waiting")
            self.waited += 1
            if self.waited == 3:
                bowline.bowline_release(self.theirs, None)  # its result does not matter here
        elif self.left > 0:
            print("tick: working")
            self.left -= 1
            if self.left == 0:
                self.release()

    def run(self):
        selector = selectors.DefaultSelector()
        selector.register(need(bowline.bowline_wakeup_fd(self.client, byref(error))), selectors.EVENT_READ)
        self.woken()  # the first call turns events on, and the operation may have ended already
        next_tick = time.monotonic() + TICK
        while self.status is None:
            if selector.select(max(0, next_tick - time.monotonic())):
                self.woken()
            if time.monotonic() >= next_tick:
                self.tick()
                next_tick += TICK
        selector.close()  # before the client, which closes the pipe
        bowline.bowline_close(self.client)
        bowline.bowline_close(self.rival)
        return 0 if self.status == OK else 1


if __name__ == "__main__":
    words = sys.argv[1:] + ["file:", "10"][len(sys.argv) - 1 :]
    sys.exit(Program(words[0], int(words[1])).run())
