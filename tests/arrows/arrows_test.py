#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The arrows between the folders of lib/ are those of the table in ARCHITECTURE.md: no #include
against them, no other link in CMake, and system calls in lib/sys only; those that change a disk in one file.
Who draws a new arrow draws it in the table, where it is seen.

  arrows_test.py SOURCE_DIRECTORY
"""
import os
import re
import sys

ROW = re.compile(r"^\| `lib/(\w+)` \|.*\| ([^|]*) \|$", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)
LINKS = re.compile(r"vfsmend_library\((\w+).*?\bLINKS\b([^)]*)\)", re.S)
# Ways to the kernel that have no place outside lib/sys, where tests can make each call fail.
SYSTEM = re.compile(r"^(unistd|dirent|poll|fstream|filesystem|sys/(syscall|mount|xattr|wait|mman|ioctl|socket|prctl))(\.h)?$")
# Changes of a disk, where power cuts and errors are played (tests/crash).
CHANGING = re.compile(r"(?<![\w>])::(pwrite\w*|f?truncate|fallocate|copy_file_range|fsync|fdatasync|rename\w*|unlink\w*|"
                      r"link|linkat|symlink\w*|mkdir\w*|rmdir|fchmod\w*|chmod|[fl]?chown|fchownat|utime\w*|futimens|"
                      r"[fl]?setxattr|[fl]?removexattr)\(")
# Memory that two processes share, and what a rehearsal makes for itself: a socket, a directory to mount on.
NO_DISK = {"changes.cpp", "shared_memory.cpp", "stream_socket.cpp", "private_mounts.cpp"}


def arrows(table):
    """-> {folder: folders that it may use}; every folder may use base"""
    found = {}
    for folder, uses in ROW.findall(table):
        found[folder] = set(re.findall(r"\w+", uses)) | {"base", folder}
    return found


def sources(directory):
    for name in sorted(os.listdir(directory)):
        if name.endswith((".h", ".cpp", ".def")):
            with open(os.path.join(directory, name)) as f:
                yield name, f.read()


def check_folder(lib, folder, allowed, folders):
    """-> (what is wrong, folders that it includes from)"""
    wrong, used = [], set()
    for name, text in sources(os.path.join(lib, folder)):
        if name not in NO_DISK:
            wrong += [f"lib/{folder}/{name}: ::{call} belongs into lib/sys/changes.cpp" for call in CHANGING.findall(text)]
        for bracket, path in INCLUDE.findall(text):
            target = path.split("/")[0]
            if bracket == "<":
                if folder != "sys" and SYSTEM.match(path):
                    wrong.append(f"lib/{folder}/{name}: <{path}> belongs into lib/sys")
            elif target not in folders:
                wrong.append(f"lib/{folder}/{name}: \"{path}\" is not \"folder/file\" of lib/")
            else:
                used.add(target)
                if target not in allowed:
                    wrong.append(f"lib/{folder}/{name}: \"{path}\" goes against the arrows of ARCHITECTURE.md")
    return wrong, used - {folder}


def check_links(lib, folder, allowed, used):
    with open(os.path.join(lib, folder, "CMakeLists.txt")) as f:
        match = LINKS.search(f.read())
    links = set(re.findall(r"\bvfsmend_(\w+)", match.group(2))) if match else set()
    wrong = [f"lib/{folder}/CMakeLists.txt: links {name} against the arrows" for name in sorted(links - allowed)]
    # base comes with every other one
    missing = used - links - ({"base"} if links else set())
    return wrong + [f"lib/{folder}/CMakeLists.txt: includes from {name}, and does not link it" for name in sorted(missing)]


def main():
    source = sys.argv[1]
    lib = os.path.join(source, "lib")
    with open(os.path.join(source, "ARCHITECTURE.md")) as f:
        table = arrows(f.read())
    folders = {name for name in os.listdir(lib) if os.path.isdir(os.path.join(lib, name))}
    wrong = [f"ARCHITECTURE.md has no row for lib/{name}" for name in sorted(folders - set(table))]
    wrong += [f"ARCHITECTURE.md has a row for lib/{name}, which does not exist" for name in sorted(set(table) - folders)]
    for folder in sorted(folders & set(table)):
        found, used = check_folder(lib, folder, table[folder], folders)
        wrong += found + check_links(lib, folder, table[folder], used)
    print("\n".join(wrong) or f"{len(folders)} folders, all arrows as drawn")
    return 1 if wrong or not folders else 0


if __name__ == "__main__":
    sys.exit(main())
