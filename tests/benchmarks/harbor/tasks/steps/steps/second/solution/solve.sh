#!/bin/sh
echo $(($(cat /app/first.txt) + $(cat seed.txt))) > /app/second.txt
