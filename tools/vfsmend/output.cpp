// SPDX-License-Identifier: Apache-2.0
#include "vfsmend/output.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/text.h"
#include "sys/atomic_file.h"

namespace vfsmend {

std::string message(std::string_view trace_id, std::string_view text) {
  const std::string trace = trace_id.empty() ? "" : fmt::format("[{}] ", printable(trace_id));
  return fmt::format("vfsmend: {}{}\n", trace, printable(text));
}

Result<void> write_file(sys::Changes& changes, const std::string& file, std::string_view content) {
  Result<void> written = sys::replace_file(changes, file, content, sys::FileMode::kAsBefore);
  if (!written && written.error().code == ErrorCode::kUsage) {
    return fail(ErrorCode::kUsage,
                fmt::format("--output: {}: leave --output out and let the shell write there",
                            written.error().text));
  }
  return written;
}

int deliver(const Rendered& rendered, std::string_view trace_id, const std::string& file,
            const Io& io) {
  if (!rendered.err.empty()) io.err(rendered.err);
  if (rendered.out.empty()) return rendered.exit;
  const Result<void> written =
      file.empty() ? io.out(rendered.out) : write_file(*io.changes, file, rendered.out);
  if (written) return rendered.exit;
  if (file.empty() && written.error().sys_errno == EPIPE) return rendered.exit;
  io.err(message(trace_id, "the report could not be written: " + written.error().text));
  return written.error().code == ErrorCode::kUsage ? exit_status::kUsage
                                                   : exit_status::kOperational;
}

}  // namespace vfsmend
