#!/bin/sh
lines=$(cat /app/poem.txt 2>/dev/null | wc -l)
capitals=$(grep -c '^[A-Z]' /app/poem.txt 2>/dev/null)
reward=0
style=0
[ "$lines" -eq 2 ] && reward=1
[ "${capitals:-0}" -eq 2 ] && style=1
printf '{"reward": %s, "style": %s}\n' "$reward" "$style" > /logs/verifier/reward.json
