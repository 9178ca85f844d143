#!/bin/sh
if [ "$(cat /srv/work/greeting.txt 2>/dev/null)" = "$GREETING" ] && [ -n "$GREETING" ]; then
    echo 1.0 > /logs/verifier/reward.txt
else
    echo 0 > /logs/verifier/reward.txt
fi
