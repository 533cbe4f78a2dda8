// SPDX-License-Identifier: Apache-2.0
// The part of a journal that is about the host:
//
//   share_mtime  ns, of the share itself
//   objects  {"path":..,"type":"0100000","ino":n,"btime":ns,"before":facts,"after":facts}
//   facts    {"mode":"0644","uid":n,"gid":n,"mtime":ns,"xattrs":[[name, base64],..]}
//   hidden   {"node":n,"name":..,"kept":..,"size":n,"xxh3":[n,n],"mode":"0644","uid":n,"gid":n,"mtime":ns}
//
// Texts that are not UTF-8 stand under their key with "_b64" behind it.
#pragma once

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "repair/journal.h"

namespace vfsmend::journal {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void put_text(Writer& json, const char* key, std::string_view value);
// Bytes as they are on disk.
void put_path(Writer& json, const char* key, const std::string& value);
[[nodiscard]] Result<std::string> get_text(const rapidjson::Value& object, const char* key);

void put_host(Writer& json, const JournalHost& host);
// kFormat names the key.
[[nodiscard]] Result<JournalHost> get_host(const rapidjson::Value& object);

}  // namespace vfsmend::journal
