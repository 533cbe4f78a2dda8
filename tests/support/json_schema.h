// SPDX-License-Identifier: Apache-2.0
// Holds a document to a schema of docs/: valid, and without a member that the schema does not
// describe (a schema of documents that may grow lets those pass, a test must not).
#pragma once

#include <rapidjson/document.h>
#include <rapidjson/schema.h>
#include <rapidjson/stringbuffer.h>

#include <string>

#include "support/temp_dir.h"

namespace vfsmend::test {

class JsonSchema {
 public:
  // `name` as "report.schema.json".
  explicit JsonSchema(const std::string& name) {
    text_ = read_text(std::string(VFSMEND_SOURCE_DIR "/docs/") + name);
    raw_.Parse(text_.c_str());
    if (raw_.HasParseError()) std::abort();
  }

  // "", or where the document is not as the schema says.
  [[nodiscard]] std::string complaint(const std::string& text) const {
    rapidjson::Document document;
    document.Parse(text.c_str());
    if (document.HasParseError()) return "not JSON";
    const rapidjson::SchemaDocument schema(raw_);
    rapidjson::SchemaValidator validator(schema);
    if (!document.Accept(validator)) {
      rapidjson::StringBuffer where;
      rapidjson::StringBuffer rule;
      validator.GetInvalidDocumentPointer().StringifyUriFragment(where);
      validator.GetInvalidSchemaPointer().StringifyUriFragment(rule);
      return std::string(where.GetString()) + ": " + validator.GetInvalidSchemaKeyword() + " of " +
             rule.GetString();
    }
    return undescribed(document, raw_, "#");
  }

 private:
  [[nodiscard]] const rapidjson::Value& resolve(const rapidjson::Value& schema) const {
    if (!schema.HasMember("$ref")) return schema;
    const std::string name = schema["$ref"].GetString();
    const std::string prefix = "#/definitions/";
    return raw_["definitions"][name.substr(prefix.size()).c_str()];
  }

  [[nodiscard]] std::string undescribed(const rapidjson::Value& value,
                                        const rapidjson::Value& unresolved,
                                        const std::string& where) const {
    const rapidjson::Value& schema = resolve(unresolved);
    if (value.IsArray() && schema.HasMember("items")) {
      for (const auto& item : value.GetArray()) {
        std::string found = undescribed(item, schema["items"], where + "/*");
        if (!found.empty()) return found;
      }
    }
    if (!value.IsObject() || schema.HasMember("additionalProperties")) return "";
    for (const auto& member : value.GetObject()) {
      const std::string inside = where + "/" + member.name.GetString();
      if (!schema.HasMember("properties")) return inside + ": not described";
      const auto described = schema["properties"].FindMember(member.name);
      if (described == schema["properties"].MemberEnd()) return inside + ": not described";
      std::string found = undescribed(member.value, described->value, inside);
      if (!found.empty()) return found;
    }
    return "";
  }

  std::string text_;
  rapidjson::Document raw_;
};

}  // namespace vfsmend::test
