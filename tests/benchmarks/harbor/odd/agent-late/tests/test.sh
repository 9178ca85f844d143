#!/bin/sh
[ -e /app/begun ] && [ ! -e /app/ended ] && echo 0.5 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
