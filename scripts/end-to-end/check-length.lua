-- wrk script: counts the answers that are not 200 with exactly the expected number of body bytes (the first argument).
local threads = {}

function setup(thread)
    table.insert(threads, thread)
end

function init(arguments)
    expected = tonumber(arguments[1])
    wrong = 0
end

function response(status, headers, body)
    if status ~= 200 or #body ~= expected then
        wrong = wrong + 1
    end
end

function done(summary, latency, requests)
    local total = 0
    for _, thread in ipairs(threads) do
        total = total + thread:get("wrong")
    end
    io.write(string.format("Wrong answers: %d\n", total))
end
