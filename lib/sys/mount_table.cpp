// SPDX-License-Identifier: Apache-2.0
#include "sys/mount_table.h"

#include <charconv>
#include <optional>
#include <vector>

#include "base/text.h"
#include "sys/fd_path.h"

namespace vfsmend::sys {
namespace {

std::vector<std::string_view> split(std::string_view s, char by) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t at = s.find(by);
    out.push_back(s.substr(0, at));
    if (at == std::string_view::npos) return out;
    s.remove_prefix(at + 1);
  }
}

// Undoes listed().
std::string unescaped(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    int code = 0;
    const char* const digits = s.data() + i + 1;
    if (s[i] == '\\' && i + 3 < s.size() &&
        std::from_chars(digits, digits + 3, code, 8).ptr == digits + 3) {
      out += static_cast<char>(code);
      i += 3;
    } else {
      out += s[i];
    }
  }
  return out;
}

bool has_option(std::string_view options, std::string_view wanted) {
  for (const std::string_view option : split(options, ',')) {
    if (option == wanted) return true;
  }
  return false;
}

// "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"
std::optional<Mount> parse_line(std::string_view line) {
  const auto fields = split(line, ' ');
  std::size_t dash = 6;
  while (dash < fields.size() && fields[dash] != "-") ++dash;
  if (dash + 3 >= fields.size()) return std::nullopt;
  Mount mount;
  const auto id = fields[0];
  if (std::from_chars(id.data(), id.data() + id.size(), mount.id).ec != std::errc{}) {
    return std::nullopt;
  }
  mount.device = fields[2];
  mount.root = unescaped(fields[3]);
  mount.mount_point = unescaped(fields[4]);
  mount.listed_point = fields[4];
  mount.listed_root = fields[3];
  mount.mount_read_only = has_option(fields[5], "ro");
  mount.fs_type = unescaped(fields[dash + 1]);
  mount.source = unescaped(fields[dash + 2]);
  mount.options = unescaped(fields[5]) + ";" + unescaped(fields[dash + 3]);
  mount.super_read_only = has_option(fields[dash + 3], "ro");
  return mount;
}

}  // namespace

std::string listed(std::string_view path) {
  std::string out;
  for (const char c : path) {
    switch (c) {
      case ' ': out += "\\040"; break;
      case '\t': out += "\\011"; break;
      case '\n': out += "\\012"; break;
      case '\\': out += "\\134"; break;
      default: out += c;
    }
  }
  return out;
}

MountTable parse_mount_table(std::string_view mountinfo) {
  MountTable table;
  for (const std::string_view line : split(mountinfo, '\n')) {
    auto mount = parse_line(line);
    if (!mount) continue;
    mount->utf8 = is_utf8(line);
    table.insert_or_assign(mount->id, std::move(*mount));
  }
  return table;
}

Result<MountTable> read_mount_table(Calls& calls) {
  VFSMEND_TRY_ASSIGN(const std::string text, read_proc_file(calls, "/proc/self/mountinfo"));
  return parse_mount_table(text);
}

}  // namespace vfsmend::sys
