#!/bin/sh
# A private PostgreSQL server for the tests: own data, loopback, free port, no password. It needs an installed server
# (Debian: postgresql), no running one. As root it runs as user `postgres`, because the server refuses root.
#
#   eval "export MESOCOSM_TEST_POSTGRES=$(tests/postgres.sh start [DIR])"    start, print the URL
#   tests/postgres.sh restart [DIR]                                        stop at once and start on the same port
#   tests/postgres.sh stop [DIR]                                           stop and delete DIR
set -eu
# runuser lives here, and a plain user's PATH may lack it.
PATH=$PATH:/usr/sbin:/sbin

command=${1:-}
dir=${2:-${TMPDIR:-/tmp}/mesocosm-postgres}

fail() {
    echo "postgres.sh: $1" >&2
    exit 1
}

as_server_user() {
    if [ "$(id -u)" = 0 ]; then
        (cd / && runuser -u postgres -- "$@")
    else
        "$@"
    fi
}

binaries() {
    for place in "${PG_BINDIR:-}" "$(pg_config --bindir 2>/dev/null || true)" /usr/lib/postgresql/*/bin \
        /usr/local/bin /opt/homebrew/bin; do
        if [ -x "$place/initdb" ] && [ -x "$place/pg_ctl" ]; then
            echo "$place"
            return
        fi
    done
    fail "no initdb found; install the PostgreSQL server (Debian: apt-get install postgresql) or set PG_BINDIR"
}

free_port() {
    "${PYTHON:-python3}" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

launch() {
    as_server_user "$bin/pg_ctl" -D "$dir/data" -w -t 60 -l "$dir/log" \
        -o "-p $1 -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=50" \
        start >/dev/null || fail "the server does not start: $(tail -n 5 "$dir/log" 2>/dev/null)"
}

case $command in
start)
    bin=$(binaries)
    [ ! -e "$dir" ] || fail "$dir exists already; stop it first: $0 stop $dir"
    mkdir -p "$dir"
    [ "$(id -u)" != 0 ] || chown postgres "$dir"
    as_server_user "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --no-sync >/dev/null
    port=$(free_port)
    launch "$port"
    echo "$port" >"$dir/port"
    echo "postgresql://postgres@127.0.0.1:$port/postgres"
    ;;
restart)
    bin=$(binaries)
    [ -f "$dir/port" ] || fail "no server was started in $dir"
    as_server_user "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null
    launch "$(cat "$dir/port")"
    ;;
stop)
    [ -d "$dir" ] || exit 0
    [ -f "$dir/data/PG_VERSION" ] || fail "$dir holds no server of this script"
    bin=$(binaries)
    as_server_user "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1 || true
    rm -rf "$dir"
    ;;
*)
    fail "usage: $0 start|restart|stop [DIR]"
    ;;
esac
