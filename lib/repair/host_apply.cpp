// SPDX-License-Identifier: Apache-2.0
#include "repair/host_apply.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include <cerrno>
#include <vector>

#include "base/text.h"
#include "sys/draft_file.h"

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
  const std::uint64_t size = step.file.size;
  VFSMEND_TRY_ASSIGN(const sys::UniqueFd from, open_kept(tools.calls, tools.kept, step.file));
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
  return must(tools.changes.fsync(fd));
}

// Where a file cannot be without a name (NFS): what cuts it short leaves one called NAME.xxxxxx.
Result<void> make_hidden_by_a_draft(const HostTools& tools, const HiddenStep& step) {
  sys::Draft draft(tools.changes, tools.share, step.file.hidden_name);
  if (draft.fd() < 0) {
    return fail_errno(-draft.fd(), fmt::format("{} cannot be made in the share", step.file.hidden_name));
  }
  Result<void> done = fill_hidden(tools, step, draft.fd());
  if (done) done = draft.rename_to_new_file();
  if (done) done = sync_names(tools);
  if (!done) return tl::make_unexpected(draft.give_up(done.error()));
  return {};
}

// Whether a file of that name and content is there. kSystem: another one is.
Result<bool> has_hidden(const HostTools& tools, const HiddenStep& step) {
  const std::string& name = step.file.hidden_name;
  const sys::UniqueFd fd(open_content(tools.calls, tools.share, name.c_str()));
  if (fd.get() == -ENOENT) return false;
  if (!fd.valid()) return fail_errno(-fd.get(), name);
  struct statx stat{};
  if (const int err = tools.calls.statx(fd.get(), "", AT_EMPTY_PATH, kObjectMask, stat); err < 0) {
    return fail_errno(-err, name);
  }
  if (S_ISREG(stat.stx_mode) && stat.stx_size == step.file.size) {
    const auto hash = hash_content(tools.calls, fd.get(), stat.stx_size);
    if (hash && *hash == step.file.hash) return true;
  }
  return fail(ErrorCode::kSystem, name + ": not the file that the repair made");
}

}  // namespace

std::string take_back_all(const HostTools& tools, const HostWork& work) {
  std::string failed;
  const auto note = [&](const Result<void>& result) {
    if (!result) failed += (failed.empty() ? "" : "; ") + result.error().text;
  };
  for (auto step = work.hidden.rbegin(); step != work.hidden.rend(); ++step) {
    note(remove_hidden(tools, *step, true));
  }
  if (!work.hidden.empty()) note(set_share_time(tools, work.share_mtime));
  for (auto step = work.steps.rbegin(); step != work.steps.rend(); ++step) note(take_back(tools, *step));
  return failed;
}

Result<std::int64_t> share_time(const HostTools& tools) {
  struct statx stat{};
  const int err = tools.calls.statx(tools.share, "", AT_EMPTY_PATH, kObjectMask, stat);
  if (err < 0) return fail_errno(-err, "the share");
  return facts_of(stat).mtime;
}

Result<void> set_share_time(const HostTools& tools, std::int64_t mtime) {
  VFSMEND_TRY_ASSIGN(const std::int64_t now, share_time(tools));
  if (now == mtime) return {};
  const int err = tools.changes.set_times(tools.share, std::nullopt, mtime);
  if (err < 0) return fail_errno(-err, "the times of the share");
  return {};
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
  const std::string& name = step.file.hidden_name;
  VFSMEND_TRY_ASSIGN(const bool is_there, has_hidden(tools, step));
  if (is_there) return {};  // of a repair that was cut short behind it
  const sys::UniqueFd fd(tools.changes.create(tools.share, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
  if (fd.get() == -EOPNOTSUPP || fd.get() == -EISDIR) return make_hidden_by_a_draft(tools, step);
  if (!fd.valid()) return fail_errno(-fd.get(), fmt::format("{} cannot be made in the share", name));
  VFSMEND_TRY(fill_hidden(tools, step, fd.get()));
  if (const int err = tools.changes.link(fd.get(), tools.share, name.c_str()); err < 0) {
    return fail_errno(-err, fmt::format("{} cannot be made in the share", name));
  }
  return sync_names(tools);
}

Result<void> remove_hidden(const HostTools& tools, const HiddenStep& step, bool compare_content) {
  const std::string& name = step.file.hidden_name;
  if (compare_content) {
    VFSMEND_TRY_ASSIGN(const bool is_there, has_hidden(tools, step));
    if (!is_there) return {};
  }
  const int err = tools.changes.unlink(tools.share, name.c_str());
  if (err == -ENOENT) return {};
  if (err < 0) return fail_errno(-err, name);
  return sync_names(tools);
}

Result<void> apply_host(const HostTools& tools, const HostWork& work) {
  HostWork begun;
  begun.share_mtime = work.share_mtime;
  Result<void> done;
  for (const HostStep& step : work.steps) {
    done = apply_one(tools, step);  // which takes its own back
    if (!done) break;
    begun.steps.push_back(step);
  }
  for (const HiddenStep& step : work.hidden) {
    if (!done) break;
    begun.hidden.push_back(step);  // its name may be there all the same
    done = make_hidden(tools, step);
  }
  if (done && !work.hidden.empty()) done = set_share_time(tools, work.share_mtime);
  if (done) return {};
  Error error = std::move(done).error();
  const std::string stuck = take_back_all(tools, begun);
  if (!stuck.empty()) error.text += fmt::format("; {}: {}", kNotTakenBack, stuck);
  return tl::make_unexpected(std::move(error));
}

}  // namespace vfsmend
