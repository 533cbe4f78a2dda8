// SPDX-License-Identifier: Apache-2.0
// The whole command line in the process of the test.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vfsmend/cli.h"

namespace vfsmend::test {

struct ToolRun {
  int exit = 0;
  std::string out;
  std::string err;
};

struct ToolWorld {
  std::map<std::string, std::string> env;
  bool terminal = false;
  unsigned columns = 0;
  int write_errno = 0;  // what writing to standard output fails with
  sys::Calls* calls = &sys::kernel();
  sys::Changes* changes = &sys::kernel_changes();
};

inline ToolRun run_tool(const std::vector<std::string>& args, const ToolWorld& world = {}) {
  ToolRun run;
  Io io;
  io.out = [&](std::string_view bytes) -> Result<void> {
    if (world.write_errno != 0) return fail_errno(world.write_errno, "standard output");
    run.out += bytes;
    return {};
  };
  io.err = [&](std::string_view bytes) { run.err += bytes; };
  io.env = [&](const char* name) -> std::optional<std::string> {
    const auto found = world.env.find(name);
    if (found == world.env.end()) return std::nullopt;
    return found->second;
  };
  io.out_is_terminal = world.terminal;
  io.terminal_columns = world.columns;
  io.calls = world.calls;
  io.changes = world.changes;
  std::vector<const char*> argv = {"vfsmend"};
  for (const std::string& arg : args) argv.push_back(arg.c_str());
  run.exit = tool_main(static_cast<int>(argv.size()), argv.data(), io);
  return run;
}

}  // namespace vfsmend::test
