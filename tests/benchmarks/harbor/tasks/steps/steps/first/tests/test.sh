#!/bin/sh
if [ "$(cat /app/first.txt 2>/dev/null)" = "1" ]; then
    echo 1 > /logs/verifier/reward.txt
else
    echo 0 > /logs/verifier/reward.txt
fi
