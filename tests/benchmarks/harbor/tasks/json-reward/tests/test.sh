#!/bin/sh
found=$(grep -c '^[1-4]$' /app/numbers.txt 2>/dev/null)
found=${found:-0}
printf '{"share": %s}\n' "$(awk "BEGIN { print $found / 4 }")" > /logs/verifier/reward.json
echo 0.25 > /logs/verifier/reward.txt
