"""Print the oldest versions that pyproject.toml allows, as constraints for pip; `make test-oldest` installs these.

Those of the extra `test` are not among them: nobody else needs it.
"""

import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
for requirement in [*project["dependencies"], *extras["dask"], *extras["parquet"], *extras["report"]]:
    print(requirement.replace(">=", "=="))
