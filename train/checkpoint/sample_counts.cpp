#include "train/checkpoint/sample_counts.h"

#include "core/error.h"
#include "core/text/plural.h"

#include <fmt/format.h>

namespace wellspring {

SampleCounts sample_counts(const Mixture& mixture) {
  SampleCounts counts;
  for (int i = 0; i < mixture.size(); ++i) {
    const Source& source = mixture.source(i);
    if (source.size() > 0) counts[source.name()] = source.size();
  }
  return counts;
}

void require_same_data(const SampleCounts& before, const Mixture& mixture,
                       const std::filesystem::path& checkpoint) {
  for (const auto& [source, count] : sample_counts(mixture)) {
    const auto found = before.find(source);
    if (found != before.end() && found->second == count) continue;
    fail(ErrorKind::data,
         {fmt::format("{}: source '{}' had {}, and now has {}", checkpoint.string(), source,
                      counted(found == before.end() ? 0 : found->second, "sample"), count),
          "the order of the samples would differ from the run so far",
          "restore the files, or start a new run: set another out=FOLDER, and init.from to start "
          "with these weights"});
  }
}

}  // namespace wellspring
