#!/bin/sh
touch /app/begun
sleep 60
touch /app/ended
