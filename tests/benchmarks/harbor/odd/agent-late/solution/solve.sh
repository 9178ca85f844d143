#!/bin/sh
touch /app/begun
sleep 600
touch /app/ended
