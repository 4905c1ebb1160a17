import { etcdSource } from '../../adapters/etcd/index.js'
import { KNOWN_LOSSES, losesEvents, prefixRange } from '../../adapters/etcd/internal.js'
import { systemClock } from '../../src/contract/clock.js'
import { messageOf } from '../../src/contract/errors.js'
import { systemRandom } from '../../src/contract/random.js'
import { formatDuration } from '../args/duration.js'
import { fieldOf, listIn } from '../args/fields.js'
import { CliError } from '../output/cli-error.js'
import { oneLine } from '../output/error-hints.js'
import { addressOf, openEtcd } from '../sources/open-etcd.js'
import type { OpenSource, PrefixFlags } from '../sources/source-types.js'
import { type Check, type Diagnose, errorCheck, leftMsOf, runChecks, undecodableCheck, warningCheck } from './check.js'

const TIMEOUT_MS = 5_000
const FULL = 0.8
/** A mirror that is disconnected for fewer revisions than this should be able to resume. */
const SHORT_HISTORY = 100
/** A history of more revisions of which none was compacted causes a warning. */
const LONG_HISTORY = 10_000
const SHORT_TOKEN_MS = 60_000
const CLOCK_MS = 5_000

interface Member {
  readonly endpoint: string
  /** The response of Maintenance.Status, or why it was refused. */
  readonly status: unknown
  /** The difference of its clock from that of this machine, in milliseconds. */
  readonly clockMs: number
}

interface EtcdContext {
  open(): Promise<OpenSource>
  readonly flags: PrefixFlags
  readonly members: readonly Member[]
  /** Those that sent their status. Throws if all refused it. */
  known(): readonly Member[]
  readonly silent: readonly string[]
  readonly token: string | undefined
  call(method: string, request: object): Promise<unknown>
  metrics(): Promise<string>
}

export const diagnoseEtcd: Diagnose<PrefixFlags> = async (url, flags, onProgress) => {
  const { endpoints, auth, shown } = addressOf(url)
  const login = auth === undefined ? undefined : { name: auth.username, password: auth.password }
  const token = login === undefined ? undefined : await tokenOf(endpoints, login, shown)
  const answers = await Promise.allSettled(endpoints.map((endpoint) => memberAt(endpoint, token)))
  const members = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  const [first] = members
  if (first === undefined) {
    await assertEtcd(url, flags)
    const reasons = answers.flatMap((answer) =>
      answer.status === 'rejected' ? [oneLine(fieldOf(answer.reason, 'cause') ?? answer.reason)] : [],
    )
    throw new CliError(`cannot connect to ${shown}: ${reasons.join('; ')}`)
  }
  const { endpoint } = first
  const context: EtcdContext = {
    open: () => openEtcd(url, flags),
    flags,
    members,
    known: () => knownOf(members),
    silent: endpoints.filter((_, at) => answers[at]?.status === 'rejected'),
    token,
    call: async (method, request) => (await post(endpoint, method, request, token)).body,
    metrics: async () => await (await fetch(`${endpoint}/metrics`, { signal: AbortSignal.timeout(TIMEOUT_MS) })).text(),
  }
  return await runChecks(etcdChecks, context, { onProgress })
}

/** Throws for a server with the protocol of etcd, in part, and without its JSON gateway: kine. */
async function assertEtcd(url: string, flags: PrefixFlags): Promise<void> {
  const { shown: _, ...servers } = addressOf(url)
  const source = etcdSource({ ...servers, prefix: flags.prefix })
  const context = { signal: AbortSignal.timeout(TIMEOUT_MS), clock: systemClock, random: systemRandom }
  await source.head(context).catch((error: unknown) => {
    if (fieldOf(error, 'code') === 'PROTOCOL') throw new CliError(oneLine(error))
  })
}

export const etcdChecks: readonly Check<EtcdContext>[] = [
  warningCheck('endpoints', async ({ silent }) => {
    if (silent.length === 0) return undefined
    return { problem: `no answer from ${silent.join(', ')}`, remedy: 'start this member, or leave it out of the URL' }
  }),
  errorCheck('different-clusters', async ({ known }) => {
    const ids = new Set(known().map(({ status }) => String(fieldOf(status, 'header.cluster_id'))))
    if (ids.size === 1) return undefined
    return {
      problem: `the endpoints belong to ${ids.size} clusters`,
      remedy: 'name the members of one cluster in the URL',
    }
  }),
  warningCheck('version', async ({ known }) => {
    const old = known().filter(({ status }) => losesEvents(versionOf(status)))
    if (old.length === 0) return undefined
    const which = old.map(({ endpoint, status }) => `etcd ${versionOf(status)} at ${endpoint}`).join(', ')
    return { problem: `${which} ${KNOWN_LOSSES.split(';')[0]}`, remedy: 'upgrade to 3.5.24, 3.6.6 or later' }
  }),
  errorCheck('rights', async ({ flags, call }) => {
    const { start, end } = prefixRange(flags.prefix)
    try {
      const range = { key: start.toString('base64'), range_end: end.toString('base64') }
      await call('kv/range', { ...range, limit: 1, keys_only: true })
      return undefined
    } catch (error) {
      if (!/permission denied|user name is empty|invalid auth token/.test(messageOf(error))) throw error
      return {
        problem: `the keys with the prefix ${flags.prefix} may not be read: ${oneLine(error)}`,
        remedy: `run: etcdctl role grant-permission <role> --prefix=true read ${flags.prefix}; user and password are part of the URL: etcd://user:password@host:2379`,
      }
    }
  }),
  errorCheck('leader', async ({ known }) => {
    const lost = known().filter(({ status }) => Number(fieldOf(status, 'leader') ?? 0) === 0)
    if (lost.length === 0) return undefined
    return {
      problem: `${lost.map(({ endpoint }) => endpoint).join(', ')} has no leader, so it answers no consistent read`,
      remedy: 'start the members that are down: etcdctl endpoint status --cluster',
    }
  }),
  errorCheck('learner', async ({ known }) => {
    const learners = known().filter(({ status }) => fieldOf(status, 'isLearner') === true)
    if (learners.length === 0) return undefined
    return {
      problem: `${learners.map(({ endpoint }) => endpoint).join(', ')} is a learner, which serves no consistent reads`,
      remedy: 'leave it out of the URL, or run: etcdctl member promote',
    }
  }),
  warningCheck('unstarted-member', async ({ call }) => {
    const members = listIn(await call('cluster/member/list', {}), 'members')
    const unstarted = members.filter((member) => fieldOf(member, 'name') === undefined)
    if (unstarted.length === 0) return undefined
    return {
      problem: `${unstarted.length} members of the cluster were added and never started`,
      remedy: 'start them, or run: etcdctl member remove',
    }
  }),
  errorCheck('no-space', async ({ call }) => {
    if (!(await hasAlarm(call, 'NOSPACE'))) return undefined
    return {
      problem: 'the alarm NOSPACE is set: the database has reached its quota, and every write is refused',
      remedy: 'run: etcdctl compact <revision>, etcdctl defrag, then etcdctl alarm disarm',
    }
  }),
  errorCheck('corrupt', async ({ call }) => {
    if (!(await hasAlarm(call, 'CORRUPT'))) return undefined
    return {
      problem: 'the alarm CORRUPT is set: the members have different data',
      remedy: 'replace the corrupt member, then run: etcdctl alarm disarm',
    }
  }),
  warningCheck('quota', async ({ known, metrics }) => {
    const [, quota] = /^etcd_server_quota_backend_bytes (\S+)/m.exec(await metrics()) ?? []
    const used = Number(fieldOf(known()[0]?.status, 'dbSize'))
    if (!(used / Number(quota) > FULL)) return undefined
    return {
      problem: `${Math.round((used / Number(quota)) * 100)} % of the quota of the database is used; at 100 % every write is refused`,
      remedy: 'run: etcdctl compact <revision> and etcdctl defrag, or raise --quota-backend-bytes',
    }
  }),
  warningCheck('compaction-off', async ({ known, call }) => {
    const head = revisionOf(known())
    if (head < LONG_HISTORY || (await isCompacted(call, 1))) return undefined
    return {
      problem: `none of ${head} revisions was compacted, so the database grows until it reaches its quota`,
      remedy: 'start etcd with --auto-compaction-mode=periodic --auto-compaction-retention=1h',
    }
  }),
  warningCheck('short-history', async ({ known, call }) => {
    const head = revisionOf(known())
    if (head <= SHORT_HISTORY || !(await isCompacted(call, head - SHORT_HISTORY))) return undefined
    return {
      problem: `the history has fewer than ${SHORT_HISTORY} revisions, so a mirror that was disconnected lists again`,
      remedy: 'compact less often: --auto-compaction-mode=periodic --auto-compaction-retention=1h',
    }
  }),
  warningCheck('token-lifetime', async ({ token }) => {
    const leftMs = leftMsOf(token)
    if (!(leftMs < SHORT_TOKEN_MS)) return undefined // A simple token does not say.
    return {
      problem: `a token is valid for ${formatDuration(Math.max(0, leftMs))}, so each mirror logs in that often`,
      remedy: 'raise the ttl of --auth-token: jwt,…,ttl=10m',
    }
  }),
  warningCheck('clock', async ({ members }) => {
    const worst = members.reduce((most, { clockMs }) => Math.max(most, Math.abs(clockMs)), 0)
    if (!(worst > CLOCK_MS)) return undefined
    return {
      problem: `the clocks of the server and of this machine differ by ${formatDuration(worst)}`,
      remedy: 'synchronize both clocks: chronyc tracking',
    }
  }),
  undecodableCheck(),
]

class Refusal extends Error {}

function knownOf(members: readonly Member[]): readonly Member[] {
  const known = members.filter(({ status }) => !(status instanceof Refusal))
  if (known.length === 0) throw members[0]?.status
  return known
}

async function memberAt(endpoint: string, token: string | undefined): Promise<Member> {
  const { body, date } = await post(endpoint, 'maintenance/status', {}, token).catch((error: unknown) => {
    if (error instanceof Refusal) return { body: error, date: undefined }
    throw error
  })
  return { endpoint, status: body, clockMs: date === undefined ? 0 : date - systemClock.now() }
}

/** Logs in at the first endpoint that answers. Undefined if none answers, or if the server needs no login. */
async function tokenOf(endpoints: readonly string[], login: object, shown: string): Promise<string | undefined> {
  for (const endpoint of endpoints) {
    try {
      const { body } = await post(endpoint, 'auth/authenticate', login, undefined)
      return String(fieldOf(body, 'token'))
    } catch (error) {
      if (!(error instanceof Refusal)) continue
      if (/authentication is not enabled/.test(error.message)) return undefined
      throw new CliError(`cannot connect to ${shown}: ${oneLine(error)}; check user and password in the URL`)
    }
  }
  return undefined
}

/** Calls a method through etcd's own JSON gateway, which listens at the same address. */
async function post(
  endpoint: string,
  method: string,
  request: object,
  token: string | undefined,
): Promise<{ readonly body: unknown; readonly date: number | undefined }> {
  const response = await fetch(`${endpoint}/v3/${method}`, {
    method: 'POST',
    body: JSON.stringify(request),
    headers: token === undefined ? {} : { authorization: token },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const text = await response.text()
  if (response.ok) return { body: JSON.parse(text), date: Date.parse(response.headers.get('date') ?? '') || undefined }
  throw new Refusal(/"(?:message|error)":"([^"]*)"/.exec(text)?.[1] ?? `HTTP status ${response.status}`)
}

function versionOf(status: unknown): string {
  return String(fieldOf(status, 'version'))
}

function revisionOf(members: readonly Member[]): number {
  return Number(fieldOf(members[0]?.status, 'header.revision'))
}

/** Whether the revision was compacted. It reads one key that need not exist. */
async function isCompacted(call: EtcdContext['call'], revision: number): Promise<boolean> {
  try {
    await call('kv/range', { key: 'AA==', revision, count_only: true })
    return false
  } catch (error) {
    if (/has been compacted/.test(messageOf(error))) return true
    throw error
  }
}

async function hasAlarm(call: EtcdContext['call'], wanted: string): Promise<boolean> {
  const alarms = listIn(await call('maintenance/alarm', { action: 'GET' }), 'alarms')
  return alarms.some((alarm) => fieldOf(alarm, 'alarm') === wanted)
}
