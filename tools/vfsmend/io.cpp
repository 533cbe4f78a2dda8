// SPDX-License-Identifier: Apache-2.0
#include "vfsmend/io.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace vfsmend {
namespace {

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "standard output");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// open(2) takes the lowest free number. Read-only: writing to a stream that the caller closed has
// to fail, as it would have.
void fill_standard_descriptors() {
  int fd = -1;
  do {
    fd = ::open("/dev/null", O_RDONLY);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) ::close(fd);
}

unsigned columns_of(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::optional<std::string> ask_terminal(std::string_view question) {
  if (!write_all(STDOUT_FILENO, question)) return std::nullopt;
  std::string line;
  char c = 0;
  for (;;) {
    const ssize_t n = ::read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return line.empty() ? std::nullopt : std::optional(line);
    if (c == '\n') return line;
    line += c;
  }
}

bool is_set(const Io& io, const char* name) {
  const std::optional<std::string> value = io.env(name);
  return value && !value->empty();
}

}  // namespace

Io process_io() {
  fill_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);
  Io io;
  io.out = [](std::string_view bytes) { return write_all(STDOUT_FILENO, bytes); };
  io.err = [](std::string_view bytes) { (void)write_all(STDERR_FILENO, bytes); };
  io.env = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
  io.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
  if (io.out_is_terminal && ::isatty(STDIN_FILENO) == 1) io.ask = ask_terminal;
  io.terminal_columns = io.out_is_terminal ? columns_of(STDOUT_FILENO) : 0;
  io.calls = &sys::kernel();
  io.changes = &sys::kernel_changes();
  return io;
}

bool use_color(const Io& io, ColorWhen when, bool to_file) {
  if (when != ColorWhen::kAuto) return when == ColorWhen::kAlways;
  if (to_file || is_set(io, "NO_COLOR")) return false;
  if (is_set(io, "CLICOLOR_FORCE") && io.env("CLICOLOR_FORCE") != "0") return true;
  return io.out_is_terminal && io.env("CLICOLOR") != "0" && io.env("TERM") != "dumb";
}

unsigned text_width(const Io& io, bool to_file) {
  if (to_file || !io.out_is_terminal || io.terminal_columns == 0) return 80;
  return std::clamp(io.terminal_columns, 24U, 100U);
}

}  // namespace vfsmend
