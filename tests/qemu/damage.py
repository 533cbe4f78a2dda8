# SPDX-License-Identifier: Apache-2.0
"""Random damage to a state, in its structs where they can be read, else in its bytes."""
import copy
import os

import state_codec

# Flags that would change a file when a real daemon opens it again; a state with one of them is not
# for a machine that has anything to lose.
HARMFUL = os.O_TRUNC | os.O_CREAT | os.O_EXCL | 0x400000  # the last: O_TMPFILE


def any_inode(rng, state):
    return rng.choice(state["inodes"]) if state["inodes"] else None


def lose(rng, state):
    inode = any_inode(rng, state)
    if inode:
        inode["loc"] = "invalid"


def drop(rng, state):
    if state["inodes"]:
        state["inodes"].pop(rng.randrange(len(state["inodes"])))


def repeat(rng, state):
    inode = any_inode(rng, state)
    if inode:
        state["inodes"].insert(rng.randrange(len(state["inodes"]) + 1), copy.deepcopy(inode))


def shuffle(rng, state):
    rng.shuffle(state["inodes"])


def recount(rng, state):
    inode = any_inode(rng, state)
    if inode:
        inode["rc"] = rng.choice([0, 1, 2, inode["rc"] + 1, max(0, inode["rc"] - 1)])


def rename(rng, state):
    inode = any_inode(rng, state)
    if inode and inode["loc"] == "path":
        inode["name"] = rng.choice(["", "gone", "x" * 256, "\u00fc", "..", "gone/../gone", inode["name"] + "~"])


def adopt(rng, state):
    inode = any_inode(rng, state)
    if inode and inode["loc"] == "path":
        inode["parent"] = rng.choice([1, inode["id"], state["next_inode"], any_inode(rng, state)["id"]])


def flatten(rng, state):
    inode = any_inode(rng, state)
    if inode and inode["loc"] == "path":
        inode["loc"] = "fullpath"


def open_something(rng, state):
    target = rng.choice([i["id"] for i in state["inodes"]] + [state["next_inode"] + 7])
    flags = rng.choice([os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_APPEND, os.O_DIRECTORY, os.O_NOFOLLOW])
    state["handles"].append({"id": state["next_handle"] + rng.randrange(3), "inode": target, "flags": flags | os.O_NONBLOCK})


def set_option(rng, state):
    state["options"][rng.randrange(4)] ^= 1


def older(_rng, state):
    if not state.get("mounts"):
        state["version"] = 1


IN_STRUCTS = (lose, drop, repeat, shuffle, recount, rename, adopt, flatten, open_something, set_option, older)


def cut(rng, data):
    return data[:rng.randrange(len(data) + 1)]


def flip(rng, data):
    at = rng.randrange(len(data)) if data else 0
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1:] if data else data


def lengthen(rng, data):
    return data + rng.randbytes(rng.randrange(1, 9))


IN_BYTES = (cut, flip, lengthen)


def decoded(data):
    """the structs, or nothing where they cannot be read"""
    try:
        state = state_codec.decode(data)
    except (IndexError, KeyError, ValueError):
        return None
    return state if state["rest"] >= 0 else None


def harmful(data):
    state = decoded(data)
    return bool(state) and any(handle["flags"] & HARMFUL for handle in state["handles"])


def damage(rng, data):
    """-> the damaged bytes, and the names of the faults put in; no bytes where they would be harmful"""
    state, notes = decoded(data), []
    if state and state["rest"] == 0:
        for fault in rng.choices(IN_STRUCTS, k=rng.choice([0, 1, 1, 2])):
            fault(rng, state)
            notes.append(fault.__name__)
        data = state_codec.encode(state)
    if not state or rng.random() < 0.15:
        fault = rng.choice(IN_BYTES)
        data = fault(rng, data)
        notes.append(fault.__name__)
    return None if harmful(data) else data, notes
