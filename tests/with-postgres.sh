#!/bin/sh
# Runs a command beside a private PostgreSQL server: tests/with-postgres.sh pytest tests
# Without an installed server the command runs all the same, and tests that need one are skipped (in CI they fail).
set -u
here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)/postgres
trap '"$here/postgres.sh" stop "$place" >/dev/null 2>&1; rm -rf "$(dirname "$place")"' EXIT INT TERM
chmod 755 "$(dirname "$place")"
if url=$("$here/postgres.sh" start "$place"); then
    export MESOCOSM_TEST_POSTGRES="$url" MESOCOSM_TEST_POSTGRES_DIR="$place"
else
    echo "no PostgreSQL server here: its tests are skipped (Debian: apt-get install postgresql)" >&2
fi
"$@"
