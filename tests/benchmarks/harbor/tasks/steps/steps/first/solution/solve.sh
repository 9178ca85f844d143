#!/bin/sh
echo 1 > /app/first.txt
