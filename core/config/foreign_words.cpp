#include "core/config/foreign_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace wellspring {
namespace {

constexpr std::array kWords = {
    ForeignWord{"batch_size", "train.batch", ""},
    ForeignWord{"bs", "train.batch", ""},
    ForeignWord{"epochs", "train.epochs", ""},
    ForeignWord{"epoch", "train.epochs", ""},
    ForeignWord{"num_epochs", "train.epochs", ""},
    ForeignWord{"max_epochs", "train.epochs", ""},
    ForeignWord{"time_limit", "train.max_time", ""},
    ForeignWord{"save_best", "train.keep_best", "it names a held-out figure"},
    ForeignWord{"save_best_only", "train.keep_best", "it names a held-out figure"},
    ForeignWord{"early_stopping", "train.patience", "a number of evaluations"},
    ForeignWord{"max_steps", "train.steps", ""},
    ForeignWord{"num_steps", "train.steps", ""},
    ForeignWord{"iterations", "train.steps", ""},
    ForeignWord{"steps", "train.steps", ""},
    ForeignWord{"batch", "train.batch", ""},
    ForeignWord{"lr", "optimizer.lr", ""},
    ForeignWord{"learning_rate", "optimizer.lr", ""},
    ForeignWord{"wd", "optimizer.weight_decay", ""},
    ForeignWord{"image_size", "data.size", ""},
    ForeignWord{"img_size", "data.size", ""},
    ForeignWord{"num_workers", "threads", ""},
    ForeignWord{"workers", "threads", ""},
    ForeignWord{"output", "out", ""},
    ForeignWord{"output_dir", "out", ""},
    ForeignWord{"save_dir", "out", ""},
    ForeignWord{"random_seed", "seed", ""},
};

}  // namespace

const ForeignWord* find_foreign_word(std::string_view word) {
  const auto is_it = [&](const ForeignWord& entry) {
    return std::ranges::equal(entry.word, word,
                              [](char a, char b) { return a == (b == '-' ? '_' : b); });
  };
  const auto* const found = std::ranges::find_if(kWords, is_it);
  return found == kWords.end() ? nullptr : found;
}

std::string foreign_word_advice(std::string_view word) {
  const ForeignWord* const found = find_foreign_word(word);
  if (found == nullptr) return "";
  return fmt::format("use {}{}{}", found->key, found->note.empty() ? "" : "; ", found->note);
}

}  // namespace wellspring
