// SPDX-License-Identifier: Apache-2.0
#include "vfsmend/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "sys/unique_fd.h"

namespace vfsmend {
namespace {

Result<void> write_all(int fd, std::string_view bytes, const std::string& file) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, file);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<mode_t> mode_for(const std::string& file) {
  struct stat before {};
  if (::lstat(file.c_str(), &before) != 0) {
    if (errno == ENOENT) return S_IRUSR | S_IWUSR;
    return fail_errno(errno, file);
  }
  if (!S_ISREG(before.st_mode)) {
    return fail(ErrorCode::kUsage,
                fmt::format("--output: {} is not a regular file: leave --output out and let the "
                            "shell write there",
                            printable(file)));
  }
  return before.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
}

Result<void> fill_and_rename(int fd, const std::string& temporary, const std::string& file,
                             mode_t mode, std::string_view content) {
  VFSMEND_TRY(write_all(fd, content, file));
  if (::fchmod(fd, mode) != 0 || ::fsync(fd) != 0) return fail_errno(errno, file);
  if (::rename(temporary.c_str(), file.c_str()) != 0) return fail_errno(errno, file);
  return {};
}

}  // namespace

std::string message(std::string_view trace_id, std::string_view text) {
  const std::string trace = trace_id.empty() ? "" : fmt::format("[{}] ", printable(trace_id));
  return fmt::format("vfsmend: {}{}\n", trace, printable(text));
}

Result<void> write_file(const std::string& file, std::string_view content) {
  VFSMEND_TRY_ASSIGN(const mode_t mode, mode_for(file));
  std::string temporary = file + ".XXXXXX";
  const sys::UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, file);
  auto written = fill_and_rename(fd.get(), temporary, file, mode, content);
  if (!written) ::unlink(temporary.c_str());
  return written;
}

int deliver(const Rendered& rendered, std::string_view trace_id, const std::string& file,
            const Io& io) {
  if (!rendered.err.empty()) io.err(rendered.err);
  if (rendered.out.empty()) return rendered.exit;
  const Result<void> written =
      file.empty() ? io.out(rendered.out) : write_file(file, rendered.out);
  if (written) return rendered.exit;
  if (file.empty() && written.error().sys_errno == EPIPE) return rendered.exit;
  io.err(message(trace_id, "the report could not be written: " + written.error().text));
  return written.error().code == ErrorCode::kUsage ? exit_status::kUsage
                                                   : exit_status::kOperational;
}

}  // namespace vfsmend
