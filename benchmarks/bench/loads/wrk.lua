-- What wrk does beside its command line, told by arguments NAME=NUMBER after "--", and its figures as one line of JSON.
--   pipeline=N  sends N requests at a time
--   close=N     asks the server to close the connection with one request of N, at random: with a counter, connections that are served
--               in turn would either close too often or never
--   post=N      posts N bytes
--   fresh=1     asks for another query each time, which no earlier run has asked for

function init(arguments)
    local option = {}
    for _, argument in ipairs(arguments) do
        local name, value = argument:match("^(%a+)=(%d+)$")
        option[name] = tonumber(value)
    end
    if option.post then
        wrk.method = "POST"
        wrk.body = string.rep("x", option.post)
    end
    if option.fresh then
        local count, run = 0, os.time()
        request = function()
            count = count + 1
            return wrk.format(nil, string.format("%s?%d-%d", wrk.path, run, count))
        end
    end
    if option.pipeline then
        local requests = string.rep(wrk.format(), option.pipeline)
        request = function() return requests end
    end
    if option.close then
        math.randomseed(1)
        local going_on, last = wrk.format(), wrk.format(nil, nil, { Host = wrk.headers["Host"], Connection = "close" })
        request = function() return math.random(option.close) == 1 and last or going_on end
    end
end

function done(summary, latency)
    local latencies = {}
    for _, percentile in ipairs({ 50, 75, 90, 95, 99, 99.9, 100 }) do
        local value = percentile == 100 and latency.max or latency:percentile(percentile)
        latencies[#latencies + 1] = string.format('"%g":%d', percentile, value)
    end
    local errors = summary.errors
    io.write(string.format(
        '{"requests":%d,"microseconds":%d,"latencies":{%s},"errors":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}}\n',
        summary.requests, summary.duration, table.concat(latencies, ","),
        errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
