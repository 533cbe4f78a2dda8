// SPDX-License-Identifier: Apache-2.0
#include "repair/host_object.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/text.h"
#include "sys/walk.h"
#include "verdict/record.h"

namespace vfsmend {
namespace {

constexpr std::uint32_t kPermissions = 07777;
constexpr std::uint32_t kPrivileges = S_ISUID | S_ISGID;
constexpr const char* kCapability = "security.capability";

const std::string* value_of(const sys::Xattrs& all, const std::string& name) {
  const auto at = std::ranges::find(all, name, &std::pair<std::string, std::string>::first);
  return at == all.end() ? nullptr : &at->second;
}

Result<Object> look_now(sys::Calls& calls, int fd) {
  Object object;
  LookOptions options;
  options.began = file_clock();
  const Look look = look_at(calls, fd, "", options, object);
  if (look.end == LookEnd::kWhole) return object;
  if (look.end == LookEnd::kUnreadable) return fail_errno(look.err, look.what);
  return fail(ErrorCode::kSystem, "it changes while it is looked at");
}

HostFacts facts_of(const Object& object) {
  const ObjectFacts& f = object.facts;
  return {f.mode & kPermissions, f.uid, f.gid, f.mtime, object.xattrs};
}

class PuttingBack {
 public:
  PuttingBack(sys::Changes& changes, const OpenObject& object, const HostFacts& wanted)
      : changes_(changes), fd_(object.fd.get()), now_(object.facts), wanted_(wanted),
        has_mode_(!S_ISLNK(object.identity.type)) {}

  Result<void> run() {
    const bool owner = now_.uid != wanted_.uid || now_.gid != wanted_.gid;
    if (has_mode_ && (now_.mode != wanted_.mode || owner)) {
      VFSMEND_TRY(must(changes_.chmod(fd_, wanted_.mode & ~kPrivileges), "its mode"));
    }
    if (owner) VFSMEND_TRY(must(changes_.chown(fd_, wanted_.uid, wanted_.gid), "its owner"));
    const bool acl = value_of(now_.xattrs, kAcl) != nullptr || value_of(wanted_.xattrs, kAcl) != nullptr;
    VFSMEND_TRY(put_xattrs(owner, now_.mode != wanted_.mode));
    // A list that goes leaves its mask in the mode; an owner who goes takes bits along.
    if (has_mode_ && (now_.mode != wanted_.mode || owner || acl)) {
      VFSMEND_TRY(must(changes_.chmod(fd_, wanted_.mode), "its mode"));
    }
    if (now_.mtime == wanted_.mtime) return {};
    return must(changes_.set_times(fd_, std::nullopt, wanted_.mtime), "its times");
  }

 private:
  static constexpr const char* kAcl = "system.posix_acl_access";

  static Result<void> must(int err, const std::string& what) {
    if (err >= 0) return {};
    return fail_errno(-err, what + " cannot be put back");
  }

  // `owner`: it was changed, which took capabilities away; `mode`: so was that, in an access list too.
  Result<void> put_xattrs(bool owner, bool mode) {
    for (const auto& [name, value] : now_.xattrs) {
      if (is_label(name) || value_of(wanted_.xattrs, name) != nullptr) continue;
      const int err = changes_.remove_xattr(fd_, name.c_str());
      if (err != -ENODATA) VFSMEND_TRY(must(err, "attribute " + name));
    }
    for (const auto& [name, value] : wanted_.xattrs) {
      const std::string* is = value_of(now_.xattrs, name);
      const bool lost = (owner && name == kCapability) || (mode && name == kAcl);
      if (is_label(name) || (is != nullptr && *is == value && !lost)) continue;
      VFSMEND_TRY(must(changes_.set_xattr(fd_, name.c_str(), value), "attribute " + name));
    }
    return {};
  }

  sys::Changes& changes_;
  int fd_;
  const HostFacts& now_;
  const HostFacts& wanted_;
  bool has_mode_;
};

sys::Xattrs without_labels(const sys::Xattrs& all) {
  sys::Xattrs out;
  std::ranges::copy_if(all, std::back_inserter(out), [](const auto& x) { return !is_label(x.first); });
  return out;
}

}  // namespace

Result<OpenObject> open_object(sys::Calls& calls, int share, const std::string& path) {
  constexpr std::uint64_t kDirectory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  open_how how{};
  how.flags = kDirectory;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const sys::UniqueFd above(path.starts_with('/') ? calls.openat2(AT_FDCWD, directory.c_str(), how)
                            : directory.empty()   ? calls.openat2(share, ".", how)
                                                  : sys::open_below(calls, share, directory, kDirectory));
  if (!above.valid()) return fail_errno(-above.get(), printable(path));
  // The object itself may be a link: O_NOFOLLOW holds it, and RESOLVE_NO_SYMLINKS would refuse it.
  const std::string name = path.empty() ? "." : path.substr(directory.size());
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  OpenObject out;
  out.fd = sys::UniqueFd(calls.openat2(above.get(), name.c_str(), how));
  if (!out.fd.valid()) return fail_errno(-out.fd.get(), printable(path));
  Result<Object> object = look_now(calls, out.fd.get());
  if (!object) return tl::make_unexpected(std::move(object).error().context(printable(path)));
  out.identity = {object->facts.ino, object->facts.btime, object->facts.mode & S_IFMT};
  out.all = object->facts;
  out.facts = facts_of(*object);
  return out;
}

Result<void> put_back(sys::Calls& calls, sys::Changes& changes, const OpenObject& object,
                      const HostFacts& wanted) {
  VFSMEND_TRY(PuttingBack(changes, object, wanted).run());
  VFSMEND_TRY_ASSIGN(const Object after, look_now(calls, object.fd.get()));
  const std::string left = difference(facts_of(after), wanted);
  if (left.empty()) return {};
  return fail(ErrorCode::kSystem, "the file system did not take " + left);
}

std::string difference(const HostFacts& a, const HostFacts& b) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (a.mode != b.mode) add(fmt::format("mode {:04o}", b.mode));
  if (a.uid != b.uid || a.gid != b.gid) add(fmt::format("owner {}:{}", b.uid, b.gid));
  if (without_labels(a.xattrs) != without_labels(b.xattrs)) add("attributes");
  if (a.mtime != b.mtime) add("times");
  return out;
}

}  // namespace vfsmend
