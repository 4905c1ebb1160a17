import { atMost, type Benchmark, contest } from './figures.ts'

const FOLLOWERS = 10_000
const BATCHES_PER_SECOND = 10
const SECONDS = 15
const OBJECTS = 2_000
const JOINING = 1_000

interface Result {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly deliveries: number
  readonly serverCpu: number
  readonly joinMs: number
  readonly snapshots: number
  readonly stoppedBytes: number
}

/** One process that serves a mirror over HTTP to many followers of another process. */
export const followers: Benchmark = {
  name: 'followers',
  about: `serveHttp: ${FOLLOWERS} followers, ${BATCHES_PER_SECOND} batches a second for ${SECONDS} s; ${JOINING} lists of ${OBJECTS} objects at once`,
  async run() {
    const args = [FOLLOWERS, BATCHES_PER_SECOND, SECONDS, OBJECTS, JOINING].map(String)
    const { p50Ms, p99Ms, deliveries, serverCpu, joinMs, snapshots, stoppedBytes } = await contest<Result>(
      'followers',
      args,
    )
    return [
      atMost(200, {
        name: 'from a commit to its arrival at a follower, p99',
        value: p99Ms,
        unit: 'ms',
        peers: { 'p50 ms': p50Ms, deliveries, 'server CPU %': Math.round(serverCpu * 100) },
      }),
      atMost(1, {
        name: `encoded lists while ${JOINING} followers join`,
        value: snapshots,
        unit: 'lists',
        peers: { 'ms until all have it': Math.round(joinMs) },
      }),
      atMost(256 * 1024, {
        name: 'memory of a follower that does not read',
        value: stoppedBytes,
        unit: 'bytes',
        peers: {},
      }),
    ]
  },
}
