// SPDX-License-Identifier: Apache-2.0
// A repair's changes on the host, and their way back. Each object is found anew and has to be the one
// that the plan is for: what another process put in its place is left alone.
#pragma once

#include <span>
#include <string>

#include "repair/host_plan.h"
#include "sys/changes.h"

namespace vfsmend {

struct HostTools {
  sys::Calls& calls;
  sys::Changes& changes;
  int share = -1;  // O_PATH
  int kept = -1;   // O_PATH, where kept files lie: make_hidden() alone needs it
};

// In the text of an error: something on the host is not as it was.
inline constexpr const char* kNotTakenBack = "not all could be taken back";

// All steps or none: what was done is taken back when one fails. kSystem names the object, and says
// kNotTakenBack where that is so.
[[nodiscard]] Result<void> apply_host(const HostTools& tools, const HostWork& work);

// Makes an object what it was before the step. An object that is it already is passed over. kSystem.
[[nodiscard]] Result<void> take_back(const HostTools& tools, const HostStep& step);

// All of them, the last first; what could not be, for a person.
[[nodiscard]] std::string take_back_all(const HostTools& tools, const HostWork& work);

// What an object is now, for a person, where it is neither as before the step nor as behind it; "".
[[nodiscard]] std::string unexpected(const HostTools& tools, const HostStep& step);

// The time of the share itself; and its way back.
[[nodiscard]] Result<std::int64_t> share_time(const HostTools& tools);
[[nodiscard]] Result<void> set_share_time(const HostTools& tools, std::int64_t mtime);

// Makes the file, with what the guest had of it. It appears whole or not at all.
[[nodiscard]] Result<void> make_hidden(const HostTools& tools, const HiddenStep& step);
// Takes its name away; passed over where it is gone. kSystem: another file has the name.
[[nodiscard]] Result<void> remove_hidden(const HostTools& tools, const HiddenStep& step,
                                         bool compare_content);

}  // namespace vfsmend
