"""What NAME promises, checked as by `rrmbench test NAME.py`: a test for each promise."""

from pathlib import Path

import pytest

from rrmbench.extending import checks


@pytest.mark.parametrize("check", checks(Path(__file__).with_name("NAME.py")), ids=str)
def test_it_keeps_its_promises(check):
    check()
