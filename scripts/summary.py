#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One line about the results that ctest wrote: summary.py SECONDS JUNIT.xml...

With VFSMEND_REQUIRE_TESTBED set, a test against the real programs that is skipped counts as failed.
"""
import os
import sys
import xml.etree.ElementTree as ET


REAL_PROGRAMS = {"daemon", "qemu", "vm"}  # labels


def labels(case):
    for found in case.iter("property"):
        if found.get("name") == "cmake_labels":
            yield from found.get("value", "").split(";")


def outcomes(path):
    """-> [(preset:name, "passed" | "failed" | "skipped")]"""
    preset = os.path.basename(os.path.dirname(path))
    for case in ET.parse(path).getroot().iter("testcase"):
        status = case.get("status")
        if status == "run":
            kind = "passed"
        elif case.find("skipped") is not None or status == "disabled":
            kind = "skipped"
        else:
            kind = "failed"
        name = f"{preset}:{case.get('name')}"
        if kind == "skipped" and os.environ.get("VFSMEND_REQUIRE_TESTBED") and REAL_PROGRAMS & set(labels(case)):
            name, kind = name + " (skipped, but required)", "failed"
        yield name, kind


def main():
    by_kind = {"passed": [], "failed": [], "skipped": []}
    for path in sys.argv[2:]:
        for name, kind in outcomes(path):
            by_kind[kind].append(name)
    seconds = int(sys.argv[1])
    names = {kind: f" ({', '.join(sorted(found))})" if found and kind != "passed" else "" for kind, found in by_kind.items()}
    print(f"scripts/test: {len(by_kind['passed'])} passed, {len(by_kind['failed'])} failed{names['failed']}, "
          f"{len(by_kind['skipped'])} skipped{names['skipped']}, in {seconds // 60} min {seconds % 60} s")
    return 0 if by_kind["passed"] and not by_kind["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
