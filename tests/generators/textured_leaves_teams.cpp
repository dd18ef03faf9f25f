// The textured variant of generator `dead_leaves` with teams of all sizes.
#include "generators/images/textured_leaves.h"
#include "tests/generators/team_test.h"

namespace wellspring {

TEST(Teams, textured_dead_leaves) {
  const std::vector<ParamSetting> settings = {{"kind", "mixed"},
                                              {"max_leaves", "700"},
                                              {"fill", "textures"},
                                              {"fills", "5"},
                                              {"fill_side", "9"}};
  DeadLeaves::Params params = DeadLeaves::table().read(settings);
  params.others = &generator_registry();
  test::expect_equal_for_all_teams<TexturedLeaves>(params, {33, 40, 3});
}

}  // namespace wellspring
