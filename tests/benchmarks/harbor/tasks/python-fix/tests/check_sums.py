import sys
import unittest

sys.path.insert(0, "/app")
from sums import add


class Sums(unittest.TestCase):
    def test_numbers_are_added(self) -> None:
        assert add(2, 3) == 5
