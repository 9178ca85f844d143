#!/bin/sh
[ "$STARTED" = yes ] || exit 2
sh $TEST_DIR/check.sh
