// Other programs' words for configuration keys, so that messages can name ours. Called by the
// configuration reader and the command line; host only.
#pragma once

#include <string>
#include <string_view>

namespace wellspring {

struct ForeignWord {
  std::string_view word;
  std::string_view key;   ///< our key, with its section
  std::string_view note;  ///< how it differs; may be ""
};

/// nullptr if the word is not listed. '-' counts as '_'.
const ForeignWord* find_foreign_word(std::string_view word);

/// "use train.steps; a step is one batch, so ..."; "" if the word is not listed.
std::string foreign_word_advice(std::string_view word);

}  // namespace wellspring
