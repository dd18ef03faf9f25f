#include "core/config/yaml_documents.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <sstream>

namespace wellspring {
namespace {

/// Detects content in a document.
class Content : public YAML::EventHandler {
 public:
  bool found() const { return found_; }

  void OnDocumentStart(const YAML::Mark&) override { found_ = false; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override { found_ = true; }
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {
    found_ = true;
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    found_ = true;
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    found_ = true;
  }
  void OnMapEnd() override {}

 private:
  bool found_ = false;
};

}  // namespace

bool has_second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Content content;
  if (!parser.HandleNextDocument(content)) return false;
  return parser.HandleNextDocument(content) && content.found();
}

}  // namespace wellspring
