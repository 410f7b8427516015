-- Replays prepared requests through wrk and prints the results as one line of JSON.
-- The file named by the first argument has, for each request, its length (four bytes, big-endian) and its bytes.

local requests, count, index = {}, 0, 0

function init(args)
  local file = assert(io.open(args[1], "rb"))
  while true do
    local prefix = file:read(4)
    if not prefix then break end
    local a, b, c, d = string.byte(prefix, 1, 4)
    count = count + 1
    requests[count] = file:read(((a * 256 + b) * 256 + c) * 256 + d)
  end
  file:close()
end

function request()
  index = index % count + 1
  return requests[index]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'REPLAY {"requests":%d,"duration_us":%d,"p50_us":%d,"p99_us":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
