// SPDX-License-Identifier: Apache-2.0
#include "repair/host_apply.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include <cerrno>
#include <vector>

#include "base/text.h"

namespace vfsmend {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

tl::unexpected<Error> other_object(const std::string& path) {
  return fail(ErrorCode::kSystem, fmt::format("{}: another object stands there now", printable(path)));
}

Result<void> apply_one(const HostTools& tools, const HostStep& step) {
  VFSMEND_TRY_ASSIGN(const OpenObject object, open_object(tools.calls, tools.share, step.path));
  if (object.identity != step.identity) return other_object(step.path);
  if (object.facts != step.before) {
    return fail(ErrorCode::kSystem, fmt::format("{}: it changed since the repair was planned", printable(step.path)));
  }
  Result<void> done = put_back(tools.calls, tools.changes, object, step.after);
  if (!done) {
    Error error = std::move(done).error().context(printable(step.path));
    if (const auto back = take_back(tools, step); !back) {
      error.text += fmt::format("; {}: {}", kNotTakenBack, back.error().text);
    }
    return tl::make_unexpected(std::move(error));
  }
  return {};
}

Result<void> copy_kept(const HostTools& tools, const HiddenStep& step, int to) {
  std::uint64_t size = 0;
  VFSMEND_TRY_ASSIGN(const sys::UniqueFd from, open_kept(tools.calls, step.file.file, size));
  if (size != step.size) return fail(ErrorCode::kSystem, printable(step.file.file) + ": it changed");
  ByteVector buffer(std::min<std::uint64_t>(kPiece, size));
  for (std::uint64_t at = 0; at < size;) {
    const ssize_t n = tools.calls.pread(from.get(), buffer, at);
    if (n == -EINTR) continue;
    if (n <= 0) return fail_errno(n < 0 ? static_cast<int>(-n) : EIO, printable(step.file.file));
    for (std::size_t done = 0; done < static_cast<std::size_t>(n);) {
      const Bytes rest = Bytes(buffer).subspan(done, static_cast<std::size_t>(n) - done);
      const ssize_t put = tools.changes.pwrite(to, rest, at + done);
      if (put == -EINTR) continue;
      if (put <= 0) return fail_errno(put < 0 ? static_cast<int>(-put) : ENOSPC, step.file.hidden_name);
      done += static_cast<std::size_t>(put);
    }
    at += static_cast<std::uint64_t>(n);
  }
  return {};
}

// A name that comes or goes moves the time of its directory, which the guest would see.
class KeepsTimes {
 public:
  explicit KeepsTimes(const HostTools& tools) : tools_(tools) {
    struct statx stat{};
    if (tools.calls.statx(tools.share, "", AT_EMPTY_PATH, kObjectMask, stat) == 0) mtime_ = facts_of(stat).mtime;
  }
  Result<void> put_back() const {
    if (!mtime_) return {};
    const int err = tools_.changes.set_times(tools_.share, std::nullopt, mtime_);
    if (err < 0) return fail_errno(-err, "the times of the share");
    return {};
  }

 private:
  const HostTools& tools_;
  std::optional<std::int64_t> mtime_;
};

Result<void> sync_names(const HostTools& tools) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH;
  const sys::UniqueFd fd(tools.calls.openat2(tools.share, ".", how));
  const int err = fd.valid() ? tools.changes.fsync(fd.get()) : fd.get();
  if (err < 0) return fail_errno(-err, "the share cannot be synced");
  return {};
}

Result<void> fill_hidden(const HostTools& tools, const HiddenStep& step, int fd) {
  VFSMEND_TRY(copy_kept(tools, step, fd));
  const auto must = [&](int err) -> Result<void> {
    if (err < 0) return fail_errno(-err, step.file.hidden_name);
    return {};
  };
  VFSMEND_TRY(must(tools.changes.chown(fd, step.file.uid, step.file.gid)));
  VFSMEND_TRY(must(tools.changes.chmod(fd, step.file.mode)));
  VFSMEND_TRY(must(tools.changes.set_times(fd, std::nullopt, step.file.mtime)));
  VFSMEND_TRY(must(tools.changes.fsync(fd)));
  return sync_names(tools);
}

}  // namespace

std::string take_back_all(const HostTools& tools, std::span<const HostStep> steps,
                          std::span<const HiddenStep> hidden) {
  std::string failed;
  const auto note = [&](const Result<void>& result) {
    if (!result) failed += (failed.empty() ? "" : "; ") + result.error().text;
  };
  for (auto step = hidden.rbegin(); step != hidden.rend(); ++step) note(remove_hidden(tools, *step, true));
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) note(take_back(tools, *step));
  return failed;
}

Result<void> take_back(const HostTools& tools, const HostStep& step) {
  VFSMEND_TRY_ASSIGN(const OpenObject object, open_object(tools.calls, tools.share, step.path));
  if (object.identity != step.identity) return other_object(step.path);
  if (object.facts == step.before) return {};
  Result<void> done = put_back(tools.calls, tools.changes, object, step.before);
  if (!done) return tl::make_unexpected(std::move(done).error().context(printable(step.path)));
  return {};
}

std::string unexpected(const HostTools& tools, const HostStep& step) {
  const Result<OpenObject> object = open_object(tools.calls, tools.share, step.path);
  if (!object) return object.error().text;
  if (object->identity != step.identity) return fmt::format("{}: another object stands there now", printable(step.path));
  if (object->facts == step.before || object->facts == step.after) return "";
  return fmt::format("{}: it has {} now", printable(step.path), difference(step.after, object->facts));
}

Result<void> make_hidden(const HostTools& tools, const HiddenStep& step) {
  const KeepsTimes times(tools);
  const char* name = step.file.hidden_name.c_str();
  const sys::UniqueFd fd(
      tools.changes.create(tools.share, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return fail_errno(-fd.get(), fmt::format("{} cannot be made in the share", step.file.hidden_name));
  }
  Result<void> filled = fill_hidden(tools, step, fd.get());
  if (!filled) static_cast<void>(tools.changes.unlink(tools.share, name));
  const Result<void> kept = times.put_back();
  return filled ? kept : filled;
}

Result<void> remove_hidden(const HostTools& tools, const HiddenStep& step, bool compare_content) {
  const KeepsTimes times(tools);
  const std::string& name = step.file.hidden_name;
  const sys::UniqueFd fd(open_content(tools.calls, tools.share, name.c_str()));
  if (fd.get() == -ENOENT) return {};
  if (!fd.valid()) return fail_errno(-fd.get(), name);
  struct statx stat{};
  if (const int err = tools.calls.statx(fd.get(), "", AT_EMPTY_PATH, kObjectMask, stat); err < 0) {
    return fail_errno(-err, name);
  }
  bool same = S_ISREG(stat.stx_mode);
  if (same && compare_content) {
    const auto hash = hash_content(tools.calls, fd.get(), stat.stx_size);
    same = stat.stx_size == step.size && hash && *hash == step.hash;
  }
  if (!same) return fail(ErrorCode::kSystem, name + ": not the file that the repair made");
  if (const int err = tools.changes.unlink(tools.share, name.c_str()); err < 0) {
    return fail_errno(-err, name);
  }
  VFSMEND_TRY(sync_names(tools));
  return times.put_back();
}

Result<void> apply_host(const HostTools& tools, const HostPlan& plan) {
  std::size_t steps = 0;
  std::size_t made = 0;
  Result<void> done;
  while (done && steps < plan.steps.size()) {
    done = apply_one(tools, plan.steps[steps]);
    steps += done ? 1 : 0;
  }
  while (done && made < plan.hidden.size()) {
    done = make_hidden(tools, plan.hidden[made]);
    made += done ? 1 : 0;
  }
  if (done) return {};
  Error error = std::move(done).error();
  const std::string stuck = take_back_all(tools, std::span(plan.steps).first(steps),
                                          std::span(plan.hidden).first(made));
  if (!stuck.empty()) error.text += fmt::format("; {}: {}", kNotTakenBack, stuck);
  return tl::make_unexpected(std::move(error));
}

}  // namespace vfsmend
