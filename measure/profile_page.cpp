#include "measure/profile_page.h"

#include "core/text/plural.h"
#include "train/report/chart.h"

#include <fmt/format.h>

namespace wellspring {
namespace {

std::string number_cell(const std::string& text) {
  return "<td class=\"number\">" + text + "</td>";
}

std::string drift_cells(const ColumnDrift* drift) {
  if (drift == nullptr) return number_cell("-") + number_cell("-") + number_cell("-");
  return number_cell(fmt::format("{:.4f}", drift->distance)) +
         number_cell(fmt::format("{:.4f}", drift->threshold)) +
         number_cell(drift->drifts() ? "YES" : "no");
}

std::string row(const ColumnProfile& column) {
  std::string text = "<tr><td>" + html_escape(column.name) + "</td>";
  for (const double value : {column.mean, column.deviation, column.low, column.high})
    text += number_cell(column.values > 0 ? fmt::format("{:.5g}", value) : "-");
  const Histogram& bins = column.histogram;
  const std::vector<double> counts(bins.counts.begin(), bins.counts.end());
  return text + number_cell(std::to_string(column.not_finite)) + "<td>" +
         histogram_html(counts, fmt::format("{:.4g} to {:.4g}", bins.low, bins.high)) + "</td>";
}

}  // namespace

std::string to_html(const DataProfile& profile, const Drift* drift,
                    const std::vector<ReportPicture>& pictures) {
  std::string body;
  if (drift != nullptr)
    body += fmt::format("<p>{}: {} compared, false-alarm rate of the comparison {}.</p>\n",
                        drift->drifts() ? "DRIFT" : "No drift",
                        counted(drift->columns.size(), "column"), kFalseAlarms);
  for (const SourceProfile& source : profile.sources) {
    body += fmt::format(
        "<h2>{}</h2>\n<p class=\"lead\">{}, {} with the same x as an earlier one. Histograms have "
        "one "
        "entry per sample; the first and last bar are the values outside of the range.</p>\n"
        "<div class=\"scroll\"><table>\n<tr><th>column</th><th>mean</th><th>deviation</th>"
        "<th>lowest</th><th>highest</th><th>not finite</th><th>per sample</th>{}</tr>\n",
        html_escape(source.name), counted(source.samples, "sample"), source.duplicates,
        drift != nullptr ? "<th>distance</th><th>threshold</th><th>drift</th>" : "");
    for (const ColumnProfile& column : source.columns)
      body += row(column) +
              (drift != nullptr ? drift_cells(drift->find(source.name, column.name)) : "") +
              "</tr>\n";
    body += "</table></div>\n";
  }
  body += pictures_html(pictures);
  return page_html("wellspring stats", profile.title, body);
}

}  // namespace wellspring
