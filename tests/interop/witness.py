#!/usr/bin/env python3
"""flock(2) for languages without it: a helper process for the parties of Node and Java.

    witness.py WITNESS WHO

It reads "in" and prints "alone" or "overlap"; it reads "out" and prints "out".
"""

import fcntl
import os
import sys


def main():
    witness = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    who = sys.argv[2]
    alone = False
    for line in sys.stdin:
        if line.strip() == "in":
            try:
                fcntl.flock(witness, fcntl.LOCK_EX | fcntl.LOCK_NB)
                alone = True
            except BlockingIOError:
                alone = False
            os.write(witness, f"in {who}\n".encode())
            print("alone" if alone else "overlap", flush=True)
        else:
            os.write(witness, f"out {who}\n".encode())
            if alone:
                fcntl.flock(witness, fcntl.LOCK_UN)
            print("out", flush=True)


main()
