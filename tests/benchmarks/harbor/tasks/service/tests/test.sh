#!/bin/sh
if command -v python3 >/dev/null 2>&1; then
    found=$(python3 -c 'import urllib.request as r; print(r.urlopen("http://127.0.0.1:8123/index.txt").read().decode())' 2>/dev/null)
else
    found=$(wget -q -O - http://127.0.0.1:8123/index.txt 2>/dev/null)
fi
if [ "$found" = served ]; then
    echo 1 > /logs/verifier/reward.txt
else
    echo 0 > /logs/verifier/reward.txt
fi
