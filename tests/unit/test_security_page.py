"""Does each line of SECURITY.md still have the test that it names?"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(?:(test_\w+\.py))?(?:::(\w+))?`")


def test_every_test_that_the_page_names_exists() -> None:
    file, named = "", []
    for name, test in NAMED.findall((ROOT / "SECURITY.md").read_text(encoding="utf-8")):
        file = name or file
        if file:
            named.append((file, test))
    assert len(named) > 25
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    assert [
        (name, test) for name, test in named if name not in texts or (test and f"def {test}(" not in texts[name])
    ] == []
