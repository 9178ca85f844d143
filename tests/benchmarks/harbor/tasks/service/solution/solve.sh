#!/bin/sh
cd /app || exit 1
if command -v python3 >/dev/null 2>&1; then
    python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 &
else
    httpd -f -p 127.0.0.1:8123 -h /app >/dev/null 2>&1 &
fi
for turn in $(seq 300); do
    grep -q ':1FBB' /proc/net/tcp /proc/net/tcp6 && exit 0
    sleep 0.1
done
exit 1
