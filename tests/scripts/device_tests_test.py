"""scripts/device-tests must find the tests that need a GPU, in sources of every form."""

import subprocess
import sys
import unittest

from support import SCRIPTS, load_script


class DeviceTests(unittest.TestCase):
    def found(self, text, *headers):
        module = load_script("device-tests")
        fixtures = module.device_fixtures([text, *headers])
        return [f"{suite}.{name}" for suite, name in module.device_tests(text, fixtures)]

    def test_a_body_that_skips(self):
        text = """
TEST(Stream, Copies) { EXPECT_TRUE(true); }
TEST(Stream, CopiesThroughTheDevice) {
  if (none()) GTEST_SKIP() << "needs a GPU: " << reason();
}
TEST_P(Ops, OnEveryDevice) {
  GTEST_SKIP() << "needs a GPU: ";
}
TEST(Stream, Fills) {}
"""
        self.assertEqual(self.found(text), ["Stream.CopiesThroughTheDevice", "Ops.OnEveryDevice"])

    def test_a_fixture_that_skips(self):
        text = """
class OnGpu : public testing::Test {
  void SetUp() override { GTEST_SKIP() << "needs a GPU: "; }
};
TEST_F(OnGpu, Runs) {}
TEST_F(OnCpu, Runs) {}
"""
        self.assertEqual(self.found(text), ["OnGpu.Runs"])

    def test_a_fixture_of_a_header_and_its_children(self):
        header = """
class OperationTest : public ::testing::TestWithParam<Backend> {
  void SetUp() override { GTEST_SKIP() << "needs a GPU: "; }
};
"""
        text = """
class Conv2dTest : public test::OperationTest {};
struct Strided final : Conv2dTest {};
TEST_P(Conv2dTest, Agrees) {}
TEST_P(Strided, Agrees) {}
TEST(Conv2d, Refuses) {}
"""
        self.assertEqual(self.found(text, header), ["Conv2dTest.Agrees", "Strided.Agrees"])

    def test_the_project_has_some(self):
        listing = subprocess.run(
            [sys.executable, SCRIPTS / "device-tests"], capture_output=True, text=True, check=True
        ).stdout
        self.assertIn("kernels StepGraph.CapturesTheSameCensusAndResultOnCuda\n", listing)
        # This test's source is in a folder that has no test program of its own.
        self.assertIn("sources DatasetSourceTest.EmitsTheSameBatchesOnAGpu\n", listing)


if __name__ == "__main__":
    unittest.main()
