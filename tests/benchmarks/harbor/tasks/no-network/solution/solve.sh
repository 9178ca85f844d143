#!/bin/sh
ls /sys/class/net 2>/dev/null > /app/interfaces.txt || cut -d: -f1 -s /proc/net/dev | tr -d ' ' > /app/interfaces.txt
[ -s /app/interfaces.txt ] || cut -d: -f1 -s /proc/net/dev | tr -d ' ' > /app/interfaces.txt
