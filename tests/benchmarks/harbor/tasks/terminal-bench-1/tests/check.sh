[ "$(cat /app/sum.txt 2>/dev/null)" = 42 ] && [ ! -e /app/solution.sh ]
