#include "generators/images/ifs_official.h"

#include "core/io/sha256.h"
#include "generators/images/ifs.h"
#include "tests/support/error_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace wellspring::ifs {
namespace {

/// A system as text, as np.savetxt writes it: one line per map.
std::string text_of(const OfficialSystem& system) {
  std::string text;
  for (int i = 0; i < system.maps; ++i) {
    const OfficialSystem::Line& m = system.line[i];
    text += fmt::format("{:.18e},{:.18e},{:.18e},{:.18e},{:.18e},{:.18e},{:.18e}\n", m.a, m.b, m.c,
                        m.d, m.e, m.f, m.chance);
  }
  return text;
}

// Values from NumPy 1.24.2 after np.random.seed(1): random() twice, uniform(-1, 1), randint(2, 8)
// ten times, then random() after 100,000 further calls.
TEST(IfsOfficial, NumbersMatchNumPy) {
  NumpyRandom random(1);
  EXPECT_EQ(random.random(), 0.417022004702574);
  EXPECT_EQ(random.random(), 0.7203244934421581);
  EXPECT_EQ(random.uniform(-1, 1), -0.9997712503653102);
  std::vector<int> drawn;
  for (int i = 0; i < 10; ++i) drawn.push_back(random.randint(2, 8));
  EXPECT_EQ(drawn, (std::vector<int>{5, 7, 2, 2, 3, 6, 7, 6, 3, 4}));
  random.skip(100000);
  EXPECT_EQ(random.random(), 0.017601198187788825);
}

// Files 00001, 00501 and 00999 of FractalDB-1k, as published.
TEST(IfsOfficial, FindsThePublishedSystems) {
  const auto known = known_refusals(1, 0.2);
  ASSERT_EQ(known.size(), 1000u);
  EXPECT_EQ(std::accumulate(known.begin(), known.end(), 1000), 42655);
  const auto systems = search_official(1, 0.2, 1000, known, 1);
  ASSERT_EQ(systems.size(), 1000u);
  EXPECT_EQ(text_of(systems[1]),
            "-1.668389423696419183e-01,-6.072550667959302206e-01,1.728251339013286980e-02,"
            "2.048852284657074474e-01,2.111859836446616789e-01,5.155499518698667405e-01,"
            "2.522042471796301019e-02\n"
            "-4.159289551462135304e-01,4.190396330592851548e-01,-3.485170920810727324e-01,"
            "-2.672146735447999966e-01,2.877306516523376878e-01,-2.116667333885886570e-01,"
            "2.738232818170721061e-01\n"
            "9.038574880708072357e-02,-8.118400125885090191e-01,-7.785972314428670771e-01,"
            "-2.906130900075152290e-01,-5.889521589065931373e-01,-2.652835207608081891e-01,"
            "7.009562934649647969e-01\n");
  EXPECT_EQ(text_of(systems[501]),
            "6.693615990993300180e-01,-1.799869668416507196e-01,6.609254969622393450e-01,"
            "4.379868596953253590e-01,6.111956367796047562e-01,-9.292583625155395044e-01,"
            "3.244604938915658932e-01\n"
            "-4.008127440857787160e-01,7.437106896956209301e-01,-8.300268170486335695e-01,"
            "-2.539363947043395964e-01,3.951347069713961879e-01,6.173817668904235667e-01,"
            "5.661163889602329746e-01\n"
            "3.897377054837294352e-01,5.137033601041558484e-01,-4.526313164126238853e-01,"
            "-2.399794452757244567e-01,3.155004457619308145e-01,-6.927765795403380000e-01,"
            "1.094231171482011183e-01\n");
  EXPECT_EQ(text_of(systems[999]),
            "-1.432041927728586739e-01,-5.754448906145506193e-01,8.490059609544420294e-01,"
            "9.624007364810109877e-01,-2.152997628900139571e-01,-6.398680610191618268e-01,"
            "2.204923277693723038e-01\n"
            "5.006615643316463249e-01,1.259296611376963249e-01,4.540678286043569045e-01,"
            "-5.819326649226486126e-01,-4.597986997652951935e-01,-3.508770039196382751e-01,"
            "2.191065222910452692e-01\n"
            "2.092511625093953498e-01,1.472287766617392801e-01,-6.621736496400971728e-01,"
            "3.993917163741105281e-01,-6.989759498321612696e-02,4.013281151203107466e-01,"
            "1.138270086915643409e-01\n"
            "6.857010235488516514e-01,3.557871273556467706e-01,-2.943850271768564397e-01,"
            "5.222033329974382632e-01,4.930000942464669578e-01,-6.327744524500560352e-01,"
            "2.909504309150073853e-01\n"
            "6.802723035259032880e-01,2.438946769904917211e-01,4.833942767553509601e-01,"
            "-1.905895076967720758e-01,-6.402961768469215276e-01,9.606742647992281281e-01,"
            "1.556237103330107563e-01\n");
  // A digest of all systems detects any change.
  Sha256 all;
  for (const OfficialSystem& system : systems) {
    const std::string text = text_of(system);
    all.update(std::as_bytes(std::span(text)));
  }
  EXPECT_EQ(all.hex(), "733c2adaf05be32b89c9abb97de09eb42d9231df4ea025458452a3b931b69d09");
}

TEST(IfsOfficial, ShippedRefusalsMatchTheSearch) {
  const auto known = known_refusals(1, 0.2);
  constexpr std::size_t kCount = 8;
  const auto searched = search_official(1, 0.2, kCount, {}, 2);
  const auto from_known = search_official(1, 0.2, kCount, known, 1);
  // The results for some categories are shipped; the others must be searched for.
  const auto mixed = search_official(1, 0.2, kCount, known.first(5), 1);
  for (std::size_t k = 0; k < kCount; ++k) {
    EXPECT_EQ(searched[k].refused, known[k]) << k;
    EXPECT_EQ(text_of(searched[k]), text_of(from_known[k])) << k;
    EXPECT_EQ(text_of(mixed[k]), text_of(from_known[k])) << k;
    EXPECT_EQ(mixed[k].refused, known[k]) << k;
  }
  EXPECT_TRUE(known_refusals(2, 0.2).empty());
  EXPECT_TRUE(known_refusals(1, 0.21).empty());
  EXPECT_NE(text_of(search_official(2, 0.1, 1, {}, 1)[0]), text_of(from_known[0]));
}

TEST(IfsOfficial, RoundsSystemsToF32) {
  CategorySpec spec;
  spec.search = Search::official;
  const CategoryTable table = make_categories(spec, 3, 2);
  const auto systems = search_official(1, 0.2, 3, known_refusals(1, 0.2), 1);
  for (std::size_t k = 0; k < 3; ++k) {
    const System& system = table.categories[k].system;
    ASSERT_EQ(system.maps, systems[k].maps);
    EXPECT_EQ(table.categories[k].attempt, systems[k].refused);
    double below = 0;
    for (int i = 0; i < system.maps; ++i) {
      EXPECT_EQ(system.map[i].a, static_cast<float>(systems[k].line[i].a));
      EXPECT_EQ(system.map[i].f, static_cast<float>(systems[k].line[i].f));
      below += systems[k].line[i].chance;
      // The tolerance covers a step of 2^-16 and the rounding of coefficients.
      EXPECT_NEAR(system.upto[i], below * kSelectors, 0.6);
    }
    const Window& window = table.windows[k * kVariations];
    EXPECT_LT(window.x0, window.x1);
    EXPECT_LT(window.y0, window.y1);
  }
}

TEST(IfsOfficial, RefusesSeedsThatNumPyCannotTake) {
  Ifs::Params params;
  params.search = Search::official;
  params.category_seed = std::int64_t{1} << 32;
  test::expect_parts(test::message_of(ErrorKind::config, [&] { Ifs{params}; }),
                     {"category_seed is 4294967296", "4294967295 or less"});
}

}  // namespace
}  // namespace wellspring::ifs
