// SPDX-License-Identifier: Apache-2.0
#include "snapshot/extract.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/text.h"
#include "snapshot/open.h"
#include "snapshot/vm_stream.h"
#include "sys/atomic_file.h"
#include "sys/fd_path.h"

namespace vfsmend {
namespace {

// In single quotes, as a shell takes it.
std::string quoted(const std::string& path) {
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// As QEMU finds it from wherever it is started.
std::string whole_path(sys::Calls& calls, const std::string& path) {
  const auto located = sys::locate(calls, AT_FDCWD, path);
  return located ? sys::path_of_fd(calls, located->fd.get()).value_or(path) : path;
}

std::string use_of(const VmStream& stream, const std::string& from, const std::string& to) {
  const std::string incoming =
      fmt::format("start QEMU as the VM was started, with -incoming {}", quoted("file:" + to));
  if (stream.kind == ContainerKind::kLibvirt) {
    return fmt::format("put libvirt's header before it again, `(umask 077; head -c {} {} > NEW.save; "
                       "cat {} >> NEW.save)`, and `virsh restore NEW.save`; or without libvirt {}",
                       stream.begin, quoted(from), quoted(to), incoming);
  }
  return fmt::format("on the disk as it was at the snapshot (`qemu-img snapshot -a {} DISK`, on a copy), {}",
                     quoted(stream.name), incoming);
}

}  // namespace

Result<Extracted> extract_stream(sys::Calls& calls, sys::Changes& changes, const std::string& from,
                                 const std::string& wanted, const std::string& to) {
  const auto in_context = [&](Error error) { return tl::make_unexpected(std::move(error).context(printable(from))); };
  auto located = sys::locate(calls, AT_FDCWD, from);
  if (!located) return in_context(std::move(located).error());
  if (S_ISDIR(located->mode)) {
    return in_context({ErrorCode::kUsage, 0, "a directory: --extract is for libvirt save files and qcow2 images"});
  }
  auto file = sys::open_regular(calls, *located);
  if (!file) return in_context(std::move(file).error());
  const ReadFile as_read{from, file->stamp};
  FileSource source(calls, std::move(*file));
  Result<VmStream> stream = find_vm_stream(source, wanted);
  if (!stream) return in_context(std::move(stream).error());
  // Before the new file has its name: what was written meanwhile is no stream.
  const auto unchanged = [&]() -> Result<void> {
    if (changed_files(calls, {as_read}).empty()) return {};
    return tl::make_unexpected(Error{
        ErrorCode::kSystem, EBUSY,
        fmt::format("{}: changed while it was read: still being written?", printable(from))});
  };
  VFSMEND_TRY(sys::write_new_file(
      changes, to, stream->source->size(),
      [&](std::uint64_t at, std::span<std::uint8_t> out) { return stream->source->read(at, out); }, unchanged));
  return Extracted{stream->source->size(), use_of(*stream, whole_path(calls, from), whole_path(calls, to))};
}

}  // namespace vfsmend
