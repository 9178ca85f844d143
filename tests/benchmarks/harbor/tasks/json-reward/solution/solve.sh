#!/bin/sh
seq 1 4 > /app/numbers.txt
