// Written by scripts/torch-weights from PyTorch 2.15.0 and timm 1.0.31: ten training steps in
// double precision. Host only.
// clang-format off
#pragma once

#include <map>
#include <string>
#include <vector>

namespace wellspring::test {

struct PublishedTraining {
  std::string model;
  std::map<std::string, std::string> settings;
  std::vector<double> losses;  // at each step; last: averaged weights on the last batch
  // Relative change of each loss by rounding: in single precision, or if pixels change by 1e-6.
  std::vector<double> errors;
};

inline const std::vector<PublishedTraining>& published_training() {
  static const std::vector<PublishedTraining> cases = {
    {"resnet18", {},
     {3.430279371212765, 3.1898138822372055, 3.5447627496838852, 3.3337213136527648, 3.106925884288966, 2.6720218346644371, 3.4101682879851438, 2.976689345462336, 3.2528607334392241, 2.8941007842332711, 2.7533513032350148},
     {8.4e-07, 7.4e-07, 1.4e-06, 5e-05, 0.00056, 0.0012, 0.00025, 0.0064, 0.0012, 0.0052, 0.00093}},
    {"vit", {{"preset", "tiny"}, {"patch", "4"}},
     {2.9870184327706459, 3.0730311836060822, 2.9223368145862212, 2.8597271181892969, 3.0578419687624634, 2.8477321723817233, 2.9317480579550041, 2.6182943701550991, 2.5928654495588157, 2.7024559201175236, 2.7064440357143136},
     {1.3e-07, 7.9e-08, 1.6e-07, 1e-07, 6.3e-08, 1.3e-07, 8.1e-08, 1.4e-07, 9.9e-08, 1.3e-07, 1.3e-07}},
  };
  return cases;
}

}  // namespace wellspring::test
// clang-format on
