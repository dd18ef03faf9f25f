#include "cli/work_bar.h"

#include <utility>

namespace wellspring::cli {

void WorkBar::show(const std::string& what, std::uint64_t done, std::uint64_t total) {
  if (!bar_ || what != what_) {
    end();
    what_ = what;
    Progress::Options options;
    options.title = what;
    options.total = total;
    options.descriptor = descriptor_;
    options.patience = std::chrono::seconds(1);
    bar_.emplace(std::move(options));
  }
  bar_->update(done);
  if (total > 0 && done >= total) end();
}

void WorkBar::end() {
  if (bar_) bar_->withdraw();
  bar_.reset();
}

}  // namespace wellspring::cli
