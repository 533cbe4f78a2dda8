#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One line about the results that ctest wrote: summary.py SECONDS JUNIT.xml...

With VFSMEND_REQUIRE_TESTBED set, a test against the real programs that is skipped counts as failed.
"""
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET


REAL_PROGRAMS = {"daemon", "qemu", "vm"}  # labels


def required(directory):
    """the names of the tests in a build directory that may not be skipped"""
    if not os.environ.get("VFSMEND_REQUIRE_TESTBED"):
        return set()
    listing = subprocess.run(["ctest", "--test-dir", directory, "--show-only=json-v1"], capture_output=True, check=True)
    return {test["name"] for test in json.loads(listing.stdout)["tests"] for p in test.get("properties", [])
            if p["name"] == "LABELS" and REAL_PROGRAMS & set(p["value"])}


def outcomes(path):
    """-> [(preset:name, "passed" | "failed" | "skipped")]"""
    directory = os.path.dirname(os.path.abspath(path))
    must_run = required(directory)
    for case in ET.parse(path).getroot().iter("testcase"):
        status = case.get("status")
        if status == "run":
            kind = "passed"
        elif case.find("skipped") is not None or status == "disabled":
            kind = "skipped"
        else:
            kind = "failed"
        name = f"{os.path.basename(directory)}:{case.get('name')}"
        if kind == "skipped" and case.get("name") in must_run:
            name, kind = name + " skipped", "failed"
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
