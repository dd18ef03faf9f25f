#include "sources/files/data_name.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace wellspring {
namespace {

template <std::size_t N>
bool is_one_of(const std::string_view (&words)[N], std::string_view word) {
  return std::ranges::find(words, word) != std::end(words);
}

}  // namespace

DataName DataName::of(std::string_view name) {
  constexpr std::string_view kTrain[] = {"train", "training"};
  constexpr std::string_view kHeldOut[] = {"val", "valid", "validation", "test", "testing"};
  constexpr std::string_view kRows[] = {"x", "images", "image", "data", "features", "inputs"};
  constexpr std::string_view kLabels[] = {"y", "labels", "label", "targets", "target", "classes"};
  DataName found;
  std::string word;
  const auto end_word = [&] {
    if (is_one_of(kTrain, word)) {
      found.part = Part::train;
    } else if (is_one_of(kHeldOut, word)) {
      found.part = Part::held_out;
    } else if (is_one_of(kRows, word)) {
      found.role = Role::rows;
    } else if (is_one_of(kLabels, word)) {
      found.role = Role::labels;
    } else if (!word.empty()) {
      found.rest += found.rest.empty() ? word : " " + word;
    }
    word.clear();
  };
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0 || letter >= 0x80) {
      word += static_cast<char>(std::tolower(letter));
    } else {
      end_word();
    }
  }
  end_word();
  return found;
}

}  // namespace wellspring
