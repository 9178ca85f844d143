#!/bin/sh
printf '%s' "$GREETING" > greeting.txt
