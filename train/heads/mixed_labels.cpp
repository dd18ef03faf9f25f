#include "core/error.h"
#include "train/heads/heads.h"

#include <fmt/format.h>

namespace wellspring {

std::vector<MixedLabels> mixed_labels(const std::vector<HeadSpec>& heads,
                                      const std::vector<HeadSources>& feeds, int sources) {
  std::vector<MixedLabels> labels(static_cast<std::size_t>(sources));
  std::vector<const HeadSpec*> readers(labels.size());
  for (std::size_t h = 0; h < heads.size(); ++h)
    for (std::size_t s = 0; s < labels.size(); ++s) {
      if (((feeds[h].sources >> s) & 1u) == 0) continue;
      const MixedLabels read = {static_cast<std::int32_t>(h), heads[h].outputs(),
                                heads[h].loss != LossKind::class_label};
      if (readers[s] != nullptr &&
          (read.in_target != labels[s].in_target || read.classes != labels[s].classes))
        fail(
            ErrorKind::config,
            {fmt::format("data.mix: heads '{}' and '{}' learn different labels of the same samples",
                         readers[s]->name, heads[h].name),
             "a mixed batch has one column of proportions per source",
             "remove data.mix, or train one of the heads in a separate run"});
      readers[s] = &heads[h];
      labels[s] = read;
    }
  return labels;
}

}  // namespace wellspring
