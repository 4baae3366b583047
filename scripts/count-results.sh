#!/usr/bin/env bash
# Adds up test results: scripts/count-results.sh RESULT...      each RESULT the path of a TRX file without its extension
#
# Names every test that failed, with the start of its message and the line where it failed, and ends with "N passed, N failed, N skipped".
# Fails when a test failed, when a file is missing or holds no test, when nothing passed, and, with IOURING_REQUIRED=1 in the environment,
# when a test was skipped because io_uring is missing.
set -uo pipefail

passed=0
failed=0
skipped=0
problems=()

# counter NAME FILE: one of the numbers in the summary of a result file.
counter() {
    sed -n "s/.*<Counters .*\b$1=\"\([0-9]*\)\".*/\1/p" "$2"
}

# The reasons of the tests that were skipped.
skip_reasons() {
    sed -n '/outcome="NotExecuted"/,/<\/UnitTestResult>/p' "$1" | grep -v 'testName='
}

# Each failed test: "FAILED  NAME", and indented below it the first lines of its message and its stack's first lines with a place in the
# source. An error outside of tests, such as a clean-up that failed, is shown in the same way.
show_failed() {
    awk '
        function plain(line) {
            gsub(/<[^>]*>|&#x[AaDd];/, "", line)
            gsub(/&lt;/, "<", line)
            gsub(/&gt;/, ">", line)
            gsub(/&quot;/, "\"", line)
            gsub(/&apos;/, "\047", line)
            gsub(/&amp;/, "\\&", line)
            return substr(line, 1, 300)
        }
        function show(line) {
            line = plain(line)
            sub(/^ +/, "", line)
            if (line != "") print "        " line
        }
        /<UnitTestResult .*outcome="Failed"/ {
            match($0, / testName="[^"]*"/)
            print "FAILED  " plain(substr($0, RSTART + 11, RLENGTH - 12))
            is_failed = 1
        }
        /<RunInfo / { is_error = /outcome="Error"/ }
        is_error && /<Text>/ && !/\[FAIL\]<\/Text>/ { print "FAILED  outside of a test"; message_lines = 8 }
        is_failed && /<Message>/ { message_lines = 8 }
        is_failed && /<StackTrace>/ { stack_lines = 3 }
        message_lines > 0 { show($0); message_lines-- }
        stack_lines > 0 && /:line [0-9]/ { show($0); stack_lines-- }
        /<\/(Message|Text)>/ { message_lines = 0 }
        /<\/StackTrace>/ { stack_lines = 0 }
        /<\/UnitTestResult>/ { is_failed = 0 }
    ' "$1"
}

count() {
    local name file="$1.trx" total=0 file_passed file_failed
    name="$(basename "$1")"
    [[ -f "$file" ]] && total="$(counter total "$file")"
    if [[ "${total:-0}" -eq 0 ]]; then
        problems+=("$name ran no test")
        return
    fi
    file_passed="$(counter passed "$file")"
    file_failed="$(counter failed "$file")"
    passed=$((passed + file_passed))
    failed=$((failed + file_failed))
    # The summary's own counter of tests that were not run stays 0; what neither passed nor failed was skipped.
    skipped=$((skipped + total - file_passed - file_failed))
    if [[ "${IOURING_REQUIRED:-}" == 1 ]] && skip_reasons "$file" | grep -qi 'io_uring'; then
        problems+=("$name skipped tests because io_uring is missing, which IOURING_REQUIRED=1 forbids")
    fi
}

for result in "$@"; do
    count "$result"
done
for result in "$@"; do
    [[ ! -f "$result.trx" ]] || show_failed "$result.trx"
done
for problem in "${problems[@]}"; do
    echo "FAILED  $problem"
done
echo "$passed passed, $failed failed, $skipped skipped"
[[ ${#problems[@]} -eq 0 && $failed -eq 0 && $passed -gt 0 ]]
