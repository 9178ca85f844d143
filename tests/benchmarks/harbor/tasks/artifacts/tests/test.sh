#!/bin/sh
if [ "$(cat /app/out/state.txt 2>/dev/null)" = done ] && [ -s /logs/artifacts/date.txt ] && [ ! -e /app/left-behind ]; then
    echo 1 > /logs/verifier/reward.txt
else
    echo 0 > /logs/verifier/reward.txt
fi
