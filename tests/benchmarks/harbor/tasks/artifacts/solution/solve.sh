#!/bin/sh
mkdir -p /app/out
echo done > /app/out/state.txt
date > /logs/artifacts/date.txt
touch /app/left-behind
