// SPDX-License-Identifier: Apache-2.0
#include "workshop.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "sys/child_process.h"
#include "sys/shared_memory.h"

namespace vfsmend::differential {
namespace {

struct Image {
  const char* name;
  std::vector<std::string> make;  // the program; the image follows
  off_t size;
};

// Runs a program of the system; its words where it fails.
Result<void> run(std::vector<std::string> words) {
  VFSMEND_TRY_ASSIGN(const auto output, sys::memory_file("output"));
  const std::string name = words[0];
  words[0] = ::access(("/sbin/" + name).c_str(), X_OK) == 0 ? "/sbin/" + name : "/bin/" + name;
  VFSMEND_TRY_ASSIGN(auto process,
                     sys::ChildProcess::start({words, {{output.get(), 1}, {output.get(), 2}}}));
  const auto status = process.wait(sys::Deadline::in(std::chrono::seconds(60)));
  if (status == 0) return {};
  VFSMEND_TRY_ASSIGN(std::string said, sys::read_memory_file(output.get(), 1U << 20));
  while (said.ends_with('\n')) said.pop_back();
  return fail(ErrorCode::kSystem, fmt::format("{}: {}", name, said));
}

Result<std::string> mount_image(const std::string& directory, const Image& image) {
  const std::string file = fmt::format("{}/{}.img", directory, image.name);
  const std::string at = fmt::format("{}/{}", directory, image.name);
  VFSMEND_TRY(run({"truncate", "--size", std::to_string(image.size), file}));
  std::vector<std::string> make = image.make;
  make.push_back(file);
  VFSMEND_TRY(run(make));
  ::mkdir(at.c_str(), 0755);
  VFSMEND_TRY(run({"mount", "-o", "loop", file, at}));
  return at;
}

Result<std::string> mount_overlay(const std::string& directory) {
  for (const char* part : {"lower", "upper", "work", "overlay"}) {
    ::mkdir((directory + "/" + part).c_str(), 0755);
  }
  const std::string options =
      fmt::format("lowerdir={0}/lower,upperdir={0}/upper,workdir={0}/work", directory);
  const std::string at = directory + "/overlay";
  if (::mount("overlay", at.c_str(), "overlay", 0, options.c_str()) != 0) {
    return fail_errno(errno, "overlay");
  }
  return at;
}

// The bases of one process, in `directory`.
std::vector<std::string> set_up_bases(const std::string& directory, std::string& missing) {
  ::mkdir(directory.c_str(), 0755);
  std::vector<std::string> bases = {directory + "/tmpfs"};
  ::mkdir(bases[0].c_str(), 0755);
  missing.clear();
  const auto take = [&](const Result<std::string>& base) {
    if (base) bases.push_back(*base);
    else missing += (missing.empty() ? "" : "; ") + base.error().text;
  };
  constexpr off_t kMiB = 1 << 20;
  take(mount_overlay(directory));
  take(mount_image(directory, {"ext4", {"mkfs.ext4", "-q", "-O", "^has_journal"}, 64 * kMiB}));
  take(mount_image(directory, {"xfs", {"mkfs.xfs", "-q"}, 320 * kMiB}));
  take(mount_image(directory, {"btrfs", {"mkfs.btrfs", "-q"}, 128 * kMiB}));
  return bases;
}

}  // namespace

Result<Workshop> set_up_workshop(const std::string& directory, unsigned processes) {
  if (::unshare(CLONE_NEWNS) != 0) return fail_errno(errno, "unshare");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return fail_errno(errno, "mount --make-rprivate /");
  }
  if (::mount("vfsmend", directory.c_str(), "tmpfs", 0, nullptr) != 0) {
    return fail_errno(errno, "mount a tmpfs on " + directory);
  }
  Workshop shop;
  for (unsigned i = 0; i < processes; ++i) {
    shop.bases.push_back(set_up_bases(fmt::format("{}/{}", directory, i), shop.missing));
    // A file system of their own: no handle of a state, however damaged, leads to them.
    const std::string states = fmt::format("{}/states-{}", directory, i);
    ::mkdir(states.c_str(), 0700);
    if (::mount("vfsmend", states.c_str(), "tmpfs", 0, nullptr) != 0) {
      return fail_errno(errno, "mount a tmpfs on " + states);
    }
    shop.states.push_back(states);
  }
  return shop;
}

}  // namespace vfsmend::differential
