#include "train/evaluation/signal_class.h"

#include "core/error.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace wellspring {
namespace {

/// Index of a class that is given by its name or its index.
std::optional<std::size_t> find_class(const HeadSpec& head, const std::string& text) {
  const auto found = std::ranges::find(head.classes, text);
  if (found != head.classes.end()) return static_cast<std::size_t>(found - head.classes.begin());
  for (std::size_t k = 0; k < head.classes.size(); ++k)
    if (text == std::to_string(k)) return k;
  return std::nullopt;
}

/// The class of `head` that an entry of eval.signal names.
std::optional<std::size_t> class_in(const HeadSpec& head, const std::string& entry) {
  if (!has_signal(head)) return std::nullopt;
  if (const auto found = find_class(head, entry)) return found;
  const std::string prefix = head.name + "/";
  return entry.starts_with(prefix) ? find_class(head, entry.substr(prefix.size())) : std::nullopt;
}

[[noreturn]] void refuse_unknown(const std::string& entry, std::span<const HeadSpec> heads) {
  std::vector<std::string> known;
  const auto add = [&](const HeadSpec& head, const std::string& prefix) {
    for (std::size_t k = 0; has_signal(head) && k < head.classes.size(); ++k)
      known.push_back(prefix + head.classes[k]);
  };
  for (const HeadSpec& head : heads) add(head, "");
  for (const HeadSpec& head : heads)
    if (heads.size() > 1) add(head, head.name + "/");
  if (known.empty())
    fail(ErrorKind::config,
         {fmt::format("eval.signal: no head has a signal '{}'", entry),
          "only a head with two classes has a signal and a background", "remove eval.signal"});
  fail(ErrorKind::config,
       {fmt::format("eval.signal: no head with two classes has a class '{}'", entry),
        "the signal is given by name or index", name_advice(entry, known)});
}

}  // namespace

bool has_signal(const HeadSpec& head) {
  return head.is_choice() && head.classes.size() == 2;
}

std::vector<std::size_t> signal_classes(std::span<const std::string> wanted,
                                        std::span<const HeadSpec> heads) {
  std::vector<std::size_t> signals(heads.size(), kUsualSignal);
  std::vector<std::string> named_by(heads.size());
  for (const std::string& entry : wanted) {
    bool known = false;
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const std::optional<std::size_t> found = class_in(heads[h], entry);
      if (!found) continue;
      if (!named_by[h].empty())
        fail(ErrorKind::config,
             {fmt::format("eval.signal: '{}' and '{}' both name the signal of head '{}'",
                          named_by[h], entry, heads[h].name),
              "the other class of that head is the background",
              "keep one of them; HEAD/CLASS names the class of one head"});
      named_by[h] = entry;
      signals[h] = *found;
      known = true;
    }
    if (!known) refuse_unknown(entry, heads);
  }
  return signals;
}

}  // namespace wellspring
