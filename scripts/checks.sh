# What the scripts that check running programs share: counted checks, waiting, free ports. Sourced, not run.
# A script that sources it defines clean_up, which runs at its end, and ends with: finish

passed=0
failed=0

# check NAME DETAIL COMMAND...: one line of the result; DETAIL is shown either way.
check() {
    local name="$1" detail="$2"
    shift 2
    if "$@"; then
        passed=$((passed + 1))
        echo "ok      $name ($detail)"
    else
        failed=$((failed + 1))
        echo "FAILED  $name ($detail)"
    fi
}

# For what makes every later check pointless.
give_up() {
    echo "FAILED  $*"
    echo "$passed passed, $((failed + 1)) failed"
    exit 1
}

# The last line, and the exit status.
finish() {
    echo "$passed passed, $failed failed"
    [[ $failed -eq 0 ]]
}

# show_help: the comment at the head of the script that was started.
show_help() {
    sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
    exit 0
}

clean_up_at_the_end() {
    trap clean_up EXIT
    trap 'exit 130' INT TERM
}

# wait_until SECONDS COMMAND...: true as soon as the command is, false after that time.
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        [[ $SECONDS -lt $deadline ]] || return 1
        sleep 0.02
    done
}

# A port of the loopback interface that nobody answers on.
free_port() {
    local port
    while true; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null || break
    done
    echo "$port"
}

is_gone() {
    ! kill -0 "$1" 2> /dev/null
}

# end_in_order PID SECONDS: asks for the end with SIGTERM; true if the process ends in time, with status 0. It is gone in any case.
end_in_order() {
    local status=0
    kill -TERM "$1" 2> /dev/null
    wait_until "$2" is_gone "$1" || kill -KILL "$1"
    wait "$1" || status=$?
    [[ $status -eq 0 ]] || echo "exit status $status"
    return "$status"
}

# A line of a log that is above a warning, with or without its time, or an exception that nothing has caught.
readonly FAILURE_LINE='^([^ ]+Z )?(fail|crit):|Unhandled exception'

# has_no_failure LOG
has_no_failure() {
    ! grep -Eq "$FAILURE_LINE" "$1"
}

# For scripts that run the caching service: REPOSITORY is the repository, and work a directory of theirs.
build_service() {
    echo "building the caching service (Release)"
    dotnet build "$REPOSITORY/samples/CachingService" --configuration Release --nologo --verbosity quiet > "$work/build.log" 2>&1 \
        || { cat "$work/build.log"; give_up "the caching service does not build"; }
}

# start_nginx CONFIGURATION RATE: an origin in $work/origin, which has its content and room for temporary files; sets origin_port and
# origin_pid.
start_nginx() {
    origin_port="$(free_port)"
    sed -e "s/@PORT@/$origin_port/" -e "s/@RATE@/$2/" "$1" > "$work/origin/nginx.conf"
    nginx -p "$work/origin/" -e stderr -c nginx.conf > "$work/origin.out" 2>&1 &
    origin_pid=$!
    wait_until 10 curl --silent --fail --output /dev/null "http://127.0.0.1:$origin_port/ready" \
        || { cat "$work/origin.out"; give_up "nginx did not start"; }
}
