#include "export/preview.h"

#include "export/contact_sheet.h"
#include "export/histogram_sheet.h"
#include "export/picture.h"

namespace wellspring {

Preview preview(const SampleHeading& heading, const std::vector<SampleOrigin>& origins,
                const HostSamples& samples) {
  if (samples.rows.layout.kind == SampleKind::image) {
    ContactSheet sheet(heading, origins, samples.rows.layout,
                       static_cast<std::uint64_t>(samples.count()));
    sheet.draw(samples);
    return sheet.take();
  }
  HistogramSheet sheet(origins, samples.rows.layout);
  sheet.add(samples);
  return sheet.draw(heading);
}

Preview preview(SampleReader& feed, const std::function<void(std::uint64_t)>& progress) {
  std::uint64_t done = 0;
  const auto each = [&](auto draw) {
    feed.make([&](const HostSamples& samples) {
      draw(samples);
      done += static_cast<std::uint64_t>(samples.count());
      if (progress) progress(done);
    });
  };
  if (feed.layout().kind == SampleKind::image) {
    ContactSheet sheet(feed.heading(), feed.origins(), feed.layout(), feed.count());
    each([&](const HostSamples& samples) { sheet.draw(samples); });
    return sheet.take();
  }
  HistogramSheet sheet(feed.origins(), feed.layout());
  each([&](const HostSamples& samples) { sheet.add(samples); });
  return sheet.draw(feed.heading());
}

RgbImage preview(Generator& generator, const SampleRange& range) {
  GeneratorReader feed(generator, range);
  return preview(feed).image;
}

std::vector<std::string> picture_legend(const std::vector<SampleOrigin>& origins) {
  return PictureNames(origins).legend();
}

}  // namespace wellspring
