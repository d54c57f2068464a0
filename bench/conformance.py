"""Run a public conformance suite against our endpoint: `make conformance SUITE=<its checkout>`.

Knows two kinds of suites by what is in the folder: Vitest suites that read DYNAMODB_ENDPOINT, and PynamoDB's integration tests, which
were written for DynamoDB Local and run against an endpoint that does as it does. The suite stays where it is; what it needs is installed
beside it, never here.
"""

import os
import subprocess
import sys
from pathlib import Path

from peers import ours, running

FAKE = {
    "AWS_ACCESS_KEY_ID": "conformance",
    "AWS_SECRET_ACCESS_KEY": "conformance",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}


def run(suite: Path) -> int:
    """The suite's exit status."""
    if (suite / "package.json").is_file():
        if not (suite / "node_modules").is_dir():
            subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=suite, check=True)
        command, options = ["npx", "vitest", "run"], []
    elif (suite / "tests" / "integration").is_dir():
        command, options = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/integration"], ["--like-local"]
    else:
        sys.exit(f"{suite} is no suite that this script knows: it has neither package.json nor tests/integration")
    with running(ours("relaxed", options=options)) as url:
        environment = {**os.environ, **FAKE, "DYNAMODB_ENDPOINT": url, "PYNAMODB_INTEGRATION_TEST_DDB_URL": url}
        return subprocess.run(command, cwd=suite, env=environment, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("Say where the suite's checkout is: make conformance SUITE=path/to/dynamodb-conformance")
    sys.exit(run(Path(sys.argv[1]).resolve()))
