// SPDX-License-Identifier: Apache-2.0
// The real programs that scripts/fetch-testbed brought: where they are, and what to say where they
// are not (testbed.py has the same for Python).
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace vfsmend::test {

inline std::string testbed_program(const std::string& name) {
  const char* bed = std::getenv("VFSMEND_TESTBED");
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string caches =
      cache != nullptr ? cache : std::string(home != nullptr ? home : "") + "/.cache";
  return (bed != nullptr ? bed : caches + "/vfsmend/testbed") + "/" + name;
}

// Why a test that needs this program cannot run here; empty where it can.
inline std::string why_no_testbed(const std::string& name) {
  if (::geteuid() != 0) return "not root";
  const std::string program = testbed_program(name);
  if (::access(program.c_str(), X_OK) == 0) return "";
  return "no " + program + " (scripts/fetch-testbed brings it)";
}

}  // namespace vfsmend::test
