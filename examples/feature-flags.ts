// Feature flags that one process writes and many mirror: `isOn` reads memory, at every request.
//   node examples/feature-flags.ts                        # follows the flags (copy it out of node_modules: Node runs no TypeScript there)
//   node examples/feature-flags.ts new-checkout 25        # turns a flag on for 25 % of the users; 0 removes it
import { createHash } from 'node:crypto'
import { Redis } from 'ioredis'
import { createInformer } from 'listwatch'
import { RedisWriteError, redisCollectionSource, redisWriter } from 'listwatch/redis'

interface Flag {
  readonly percent: number
}

const client = new Redis(process.env['REDIS_URL'] ?? 'redis://localhost:6379', { lazyConnect: true })
const [name, percent] = process.argv.slice(2)
if (name === undefined) await follow()
else await set(name, Number(percent ?? 100))

async function set(flag: string, of: number): Promise<void> {
  await using writer = redisWriter<Flag>({ client, collection: 'flags' })
  try {
    const version = await writer.apply([of === 0 ? { delete: flag } : { put: flag, object: { percent: of } }])
    console.log(`${flag}: ${of} % since ${version}`)
  } catch (error) {
    if (!(error instanceof RedisWriteError)) throw error
    // NOT_WRITTEN: try again. OUTCOME_UNKNOWN: read the flag first. This program only prints the code.
    console.error(`${error.code}: ${error.message}`)
    process.exitCode = 1
  }
}

async function follow(): Promise<void> {
  const flags = createInformer({ source: redisCollectionSource<Flag>({ client, collection: 'flags' }) })
  flags.on('error', (error) => console.warn(error.message))
  process.once('SIGINT', () => void flags.stop())
  // Without Redis the service runs with the last known flags. Before the first list all flags are off.
  flags.start()
  for await (const { changes } of flags.changes()) {
    for (const { key } of changes) {
      const users = Array.from({ length: 1_000 }, (_, n) => `user-${n}`).filter((user) => isOn(key, user))
      console.log(`${key}: ${users.length} of 1000 users`)
    }
  }

  /** The same user always meets the same. */
  function isOn(flag: string, user: string): boolean {
    const { percent: share = 0 } = flags.get(flag) ?? {}
    return createHash('sha1').update(`${flag} ${user}`).digest().readUInt16BE() % 100 < share
  }
}
