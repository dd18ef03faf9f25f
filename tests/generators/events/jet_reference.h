// Computes images and substructure of a jet in double precision, following the steps in
// docs/generators/algorithms/ginkgo.md. For the tests of jet_views.h and of the generators that use
// it. Host only.
#pragma once

#include "generators/events/jet_views.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace wellspring::test {

struct JetPart {
  double pt, eta, phi;
};
using Jet = std::vector<JetPart>;

inline JetPart place_of(double x, double y, double z, double jet_phi) {
  const double pt = std::hypot(x, y);
  return {pt, std::asinh(z / pt), std::remainder(std::atan2(y, x) - jet_phi, 2 * std::acos(-1.0))};
}

inline double apart(const JetPart& a, const JetPart& b) {
  return std::hypot(a.eta - b.eta, a.phi - b.phi);
}

inline double sum_pt(const Jet& jet) {
  double sum = 0;
  for (const JetPart& part : jet) sum += part.pt;
  return sum;
}

inline Jet centred(Jet jet) {
  double eta = 0, phi = 0;
  for (const JetPart& part : jet) {
    eta += part.pt * part.eta / sum_pt(jet);
    phi += part.pt * part.phi / sum_pt(jet);
  }
  for (JetPart& part : jet) {
    part.eta -= eta;
    part.phi -= phi;
  }
  return jet;
}

inline Jet subjets(Jet jet, std::size_t left) {
  while (jet.size() > left) {
    double least = std::numeric_limits<double>::infinity();
    std::size_t a = 0, b = 1;
    for (std::size_t i = 0; i < jet.size(); ++i)
      for (std::size_t j = i + 1; j < jet.size(); ++j) {
        const double d = std::min(jet[i].pt, jet[j].pt) * apart(jet[i], jet[j]);
        if (d >= least) continue;
        least = d;
        a = i;
        b = j;
      }
    const double pt = jet[a].pt + jet[b].pt, share = jet[b].pt / pt;
    jet[a] = {pt, std::lerp(jet[a].eta, jet[b].eta, share),
              std::lerp(jet[a].phi, jet[b].phi, share)};
    jet.erase(jet.begin() + static_cast<std::ptrdiff_t>(b));
  }
  return jet;
}

struct JetImage {
  std::vector<double> pixels;
  double outside = 0;
  double margin = 1;  ///< distance from a pixel's edge to the nearest constituent, in pixels
};

inline JetImage image_of(const Jet& jet, const jets::Picture& picture) {
  Jet turned = centred(jet);
  const double total = sum_pt(jet);
  const Jet pair = subjets(turned, 2);
  double lever = 1;
  if (pair.size() == 2) {
    const JetPart& second = pair[1].pt > pair[0].pt ? pair[0] : pair[1];
    // The angle of a short vector is less accurate, so the margins are scaled down for it.
    lever = std::min(1.0, 10 * std::hypot(second.eta, second.phi));
    const double turn = -std::acos(-1.0) / 2 - std::atan2(second.phi, second.eta);
    for (JetPart& part : turned) {
      const double eta = part.eta, phi = part.phi;
      part.eta = std::cos(turn) * eta - std::sin(turn) * phi;
      part.phi = std::sin(turn) * eta + std::cos(turn) * phi;
    }
  }
  double skew = 0, size = 0;
  for (const JetPart& part : turned) {
    skew += part.pt * std::pow(part.eta, 3);
    size += part.pt * std::pow(std::abs(part.eta), 3);
  }
  const auto side = static_cast<std::size_t>(picture.pixels);
  const double middle = picture.pixels / 2 + 0.5;
  JetImage image;
  image.pixels.assign(side * side, 0);
  for (const JetPart& part : turned) {
    const double column = (skew < 0 ? -1 : 1) * part.eta / double{picture.pixel} + middle;
    const double line = middle - part.phi / double{picture.pixel};
    for (const double at : {column, line})
      image.margin = std::min(image.margin, lever * std::abs(at - std::round(at)));
    const double most = picture.pixels;
    if (column >= 0 && column < most && line >= 0 && line < most) {
      image.pixels[static_cast<std::size_t>(line) * side + static_cast<std::size_t>(column)] +=
          part.pt / total;
    } else {
      image.outside += part.pt / total;
    }
  }
  // If every constituent is on the axis up to rounding, the flip does not matter.
  if (size > 1e-15 * total) image.margin = std::min(image.margin, lever * std::abs(skew) / size);
  double squares = 0;
  for (const double pixel : image.pixels) squares += pixel * pixel;
  for (double& pixel : image.pixels) {
    if (picture.norm == jets::Norm::square && squares > 0) pixel /= std::sqrt(squares);
    if (picture.norm == jets::Norm::none) pixel *= total * double{picture.per_unit};
  }
  return image;
}

/// All features except multiplicity, pt and mass.
inline std::array<double, jets::kNumbers> numbers_of(const Jet& given) {
  const Jet jet = centred(given);
  const double total = sum_pt(jet);
  std::array<double, jets::kNumbers> n{};
  for (const JetPart& part : jet) {
    const double z = part.pt / total, d = std::hypot(part.eta, part.phi);
    n[jets::kWidth] += z * d;
    n[jets::kLha] += z * std::sqrt(d);
    n[jets::kThrust] += z * d * d;
    n[jets::kPtD] += z * z;
  }
  n[jets::kPtD] = std::sqrt(n[jets::kPtD]);
  for (std::size_t k = 1; k <= 3; ++k) {
    const Jet axes = subjets(jet, k);
    for (const JetPart& part : jet) {
      double nearest = 1e30;
      for (const JetPart& axis : axes) nearest = std::min(nearest, apart(part, axis));
      n[jets::kTau1 + k - 1] += part.pt / total * nearest;
    }
  }
  const auto ratio = [](double a, double b) { return b > 1e-30 ? std::min(a / b, 128.0) : 0.0; };
  n[jets::kTau21] = ratio(n[jets::kTau2], n[jets::kTau1]);
  n[jets::kTau32] = ratio(n[jets::kTau3], n[jets::kTau2]);
  for (std::size_t i = 0; i < jet.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double zz = jet[i].pt * jet[j].pt / (total * total), ij = apart(jet[i], jet[j]);
      n[jets::kE2] += zz * ij;
      for (std::size_t k = 0; k < j; ++k)
        n[jets::kE3] += zz * jet[k].pt / total * ij * apart(jet[i], jet[k]) * apart(jet[j], jet[k]);
    }
  n[jets::kC2] = ratio(n[jets::kE3], std::pow(n[jets::kE2], 2));
  n[jets::kD2] = ratio(n[jets::kE3], std::pow(n[jets::kE2], 3));
  return n;
}

}  // namespace wellspring::test
