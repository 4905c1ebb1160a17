import type { NatsConnection } from '@nats-io/transport-node'
import { fieldOf, listIn } from '../args/fields.js'
import { checkNatsForm, closeNats, connectNats, openNats } from '../sources/open-nats.js'
import type { OpenSource, SourceOptions } from '../sources/source-types.js'
import { type Check, type Diagnose, listCheck, runChecks, undecodableCheck, warningCheck } from './check.js'

const TIMEOUT_MS = 10_000
const FULL = 0.9
/** A replica that is silent for longer causes a warning, in nanoseconds. */
const SILENT_NS = 10_000_000_000

interface NatsContext {
  open(): Promise<OpenSource>
  /** The description of the bucket's stream; undefined if it cannot be read, which the check `list` reports. */
  readonly info: unknown
}

export const diagnoseNats: Diagnose<SourceOptions> = async (url, flags, onProgress) => {
  checkNatsForm(flags)
  const { connection } = await connectNats(url)
  try {
    const bucket = flags.bucket ?? `relay-${flags.relay}`
    const context = { open: () => openNats(url, flags), info: await infoOf(connection, bucket) }
    return await runChecks(natsChecks, context, { onProgress })
  } finally {
    closeNats(connection)
  }
}

async function infoOf(connection: NatsConnection, bucket: string): Promise<unknown> {
  const subject = `$JS.API.STREAM.INFO.KV_${bucket}`
  const reply = await connection.request(subject, '', { timeout: TIMEOUT_MS }).catch(() => undefined)
  return reply?.json()
}

export const natsChecks: readonly Check<NatsContext>[] = [
  listCheck('the bucket cannot be read'),
  warningCheck('storage', async ({ info }) => {
    if (fieldOf(info, 'config.storage') !== 'memory') return undefined
    return {
      problem: 'the bucket is in memory, so a restart of the server loses all objects',
      remedy: 'create the bucket with: nats kv add --storage file',
    }
  }),
  warningCheck('size', async ({ info }) => {
    const [used, most] = [Number(fieldOf(info, 'state.bytes')), Number(fieldOf(info, 'config.max_bytes'))]
    if (!(most > 0) || used / most <= FULL) return undefined
    return {
      problem: `${Math.round((used / most) * 100)} % of max_bytes of the bucket are used; at 100 % writes are refused`,
      remedy: 'run: nats stream edit --max-bytes with more bytes, or delete keys',
    }
  }),
  warningCheck('replicas', async ({ info }) => {
    const late = listIn(info, 'cluster.replicas').filter(
      (each) => fieldOf(each, 'offline') === true || Number(fieldOf(each, 'active')) > SILENT_NS,
    )
    if (late.length === 0) return undefined
    return {
      problem: `${late.map((each) => String(fieldOf(each, 'name'))).join(', ')} does not follow the leader of the bucket`,
      remedy: 'start these servers: nats server report jetstream',
    }
  }),
  undecodableCheck(),
]
