"""The two policies, for tests of what both obey."""

import pytest

from restante import BusPolicy

both = pytest.mark.parametrize("policy", [BusPolicy(), BusPolicy.classic()], ids=lambda policy: policy.name)
