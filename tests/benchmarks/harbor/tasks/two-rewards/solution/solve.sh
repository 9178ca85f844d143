#!/bin/sh
printf 'Roses are red\nViolets are blue\n' > /app/poem.txt
