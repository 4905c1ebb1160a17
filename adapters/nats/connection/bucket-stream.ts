import { messageOf, SourceError } from '../../../src/contract/errors.js'
import { forked, unavailable } from '../../common/source-errors.js'
import { type NatsVersion, nanosecondsOf } from '../nats-version.js'
import type { Session } from './session.js'

interface StreamConfig {
  readonly num_replicas?: number
  readonly mirror?: { readonly name: string }
  readonly sources?: readonly unknown[] | null
  readonly subjects?: readonly string[] | null
  /** In nanoseconds; 0 if messages do not expire. */
  readonly max_age?: number
  /** What the stream may have, and one message; -1 for no limit. */
  readonly max_bytes?: number
  readonly max_msgs?: number
  readonly max_msg_size?: number
  readonly discard?: string
}

interface StreamInfo {
  readonly created: string
  readonly config: StreamConfig
  readonly state: {
    readonly messages: number
    readonly first_seq: number
    readonly last_seq: number
    readonly last_ts?: string
    readonly num_deleted?: number
    readonly num_subjects?: number
    readonly subjects?: Readonly<Record<string, number>>
  }
  readonly cluster?: {
    readonly leader?: string
    readonly replicas?: readonly { readonly active: number; readonly offline?: boolean }[]
  }
}

/** The stream of a bucket, as its leader described it. */
export interface BucketState {
  readonly created: string
  readonly lastSeq: number
  /** When the last message was stored, in nanoseconds. */
  readonly lastTime: string
  /** The subject of a key is this and the key. */
  readonly subjectPrefix: string
  /** Whether the stream can have messages with subjects of another prefix: a mirror, and one that has sources. */
  readonly mayHaveOthers: boolean
  /** Whether it has no message: nothing was written, or everything was purged, which leaves the sequence. */
  readonly isEmpty: boolean
  readonly subjects: number
  /** Changes with every removal of a message. */
  readonly extent: string
  readonly leader: string
  /** Whether most replicas follow this leader. A leader that has lost them may describe an old state. */
  readonly isCurrent: boolean
  /** The limit because of which the stream removes newest messages of keys by itself; undefined if there is none. */
  readonly removes: string | undefined
  /** The maximum size of a message with its headers; undefined if there is none. */
  readonly maxMessageBytes: number | undefined
}

/** A follower that responded within this time follows no other leader yet: an election takes longer. 0: never. */
const RECENT_NS = 2_000_000_000

const NAME_IN_USE = 10_058
const NOT_CURRENT = 'the leader of the stream has lost its followers'

export function streamOf(bucket: string): string {
  return `KV_${bucket}`
}

export async function createBucket(
  session: Session,
  bucket: string,
  replicas: number,
  more: Readonly<Record<string, boolean>> = {},
): Promise<void> {
  const stream = streamOf(bucket)
  const config = {
    name: stream,
    subjects: [`$KV.${bucket}.>`],
    max_msgs_per_subject: 1,
    num_replicas: replicas,
    storage: 'file',
    discard: 'new',
    allow_direct: true,
    allow_rollup_hdrs: true,
    deny_delete: false,
    ...more,
  }
  await session.request(`STREAM.CREATE.${stream}`, config).catch((error: unknown) => {
    if (!messageOf(error).includes(`(${NAME_IN_USE})`)) throw error // Another process has created it.
  })
}

export async function readState(session: Session, bucket: string): Promise<BucketState> {
  const info = await session.request<StreamInfo>(`STREAM.INFO.${streamOf(bucket)}`)
  if (info === undefined) throw unavailable('the stream has no description')
  const { state, cluster, config, created } = info
  const replicas = cluster?.replicas ?? []
  const following = replicas.filter(
    ({ active, offline }) => offline !== true && active > 0 && active < RECENT_NS,
  ).length
  const origin = config.mirror?.name.replace(/^KV_/, '') ?? bucket
  return {
    created: nanosecondsOf(created),
    lastSeq: state.last_seq,
    lastTime: nanosecondsOf(state.last_ts ?? ''),
    isEmpty: state.messages === 0,
    subjects: state.num_subjects ?? 0,
    subjectPrefix: `$KV.${origin}.`,
    mayHaveOthers: config.subjects?.length !== 1 || (config.sources ?? []).length > 0,
    leader: cluster?.leader ?? '',
    extent: [state.messages, state.first_seq, state.last_seq, state.num_deleted ?? 0].join('.'),
    isCurrent: 2 * (following + 1) > Math.max(replicas.length + 1, config.num_replicas ?? 1),
    removes: removingLimit(config),
    maxMessageBytes: isLimit(config.max_msg_size) ? config.max_msg_size : undefined,
  }
}

function removingLimit({
  max_age: age,
  max_bytes: bytes,
  max_msgs: messages,
  discard,
}: StreamConfig): string | undefined {
  if (isLimit(age)) return `max_age is ${age / 1e9} s`
  if (discard === 'new') return undefined // Then the limit refuses writes.
  if (isLimit(bytes)) return `max_bytes is ${bytes}, and discard is not "new"`
  return isLimit(messages) ? `max_msgs is ${messages}, and discard is not "new"` : undefined
}

function isLimit(value: number | undefined): value is number {
  return value !== undefined && value > 0
}

export async function assertSameStream(session: Session, bucket: string, { created }: BucketState): Promise<void> {
  const { created: now } = await readState(session, bucket)
  if (now !== created) throw createdAgain()
}

/** The number of subjects that have a message and match the filter, as the leader has them. */
export async function readSubjectCount(session: Session, bucket: string, filter: string): Promise<number> {
  // No response contains the subjects after this number.
  const body = { subjects_filter: filter, offset: 1e9 }
  return (await session.request<{ total?: number }>(`STREAM.INFO.${streamOf(bucket)}`, body))?.total ?? 0
}

/** Throws `PROTOCOL` if the stream has a message that is not of a key of the bucket. No read would find it. */
export async function assertOwnSubjects(session: Session, bucket: string, state: BucketState): Promise<void> {
  const { mayHaveOthers, subjects, subjectPrefix } = state
  if (!mayHaveOthers || subjects === (await readSubjectCount(session, bucket, `${subjectPrefix}>`))) return
  const info = await session.request<StreamInfo>(`STREAM.INFO.${streamOf(bucket)}`, { subjects_filter: '>' })
  const other = Object.keys(info?.state.subjects ?? {}).find((subject) => !subject.startsWith(subjectPrefix))
  if (other === undefined) return // A key was written meanwhile.
  const message = `the bucket has the message ${other}, and its keys begin with ${subjectPrefix}`
  const remedy = 'give its sources subject_transforms to its own subjects, or mirror the original bucket without any'
  throw new SourceError(`${message}: ${remedy}`, { code: 'PROTOCOL' })
}

/** The sequence of the last message of a subject, which may have wildcards; 0 if there is none. */
export async function readLastSeq(session: Session, bucket: string, subject: string): Promise<number> {
  return (await readMessage(session, bucket, { last_by_subj: subject }))?.seq ?? 0
}

export interface FoundMessage {
  readonly seq: number
  readonly time: string
  readonly isDelete: boolean
  readonly text: string
}

export async function readMessage(
  session: Session,
  bucket: string,
  which: { readonly seq: number } | { readonly last_by_subj: string },
): Promise<FoundMessage | undefined> {
  const found = await session.request<{ message: { seq: number; time: string; hdrs?: string; data?: string } }>(
    `STREAM.MSG.GET.${streamOf(bucket)}`,
    which,
  )
  if (found === undefined) return undefined
  const { seq, time, hdrs = '', data = '' } = found.message
  const headers = Buffer.from(hdrs, 'base64').toString()
  const isDelete = /^(KV-Operation: *(DEL|PURGE)|Nats-Marker-Reason:)/im.test(headers)
  return { seq, time: nanosecondsOf(time), isDelete, text: Buffer.from(data, 'base64').toString() }
}

/** What the newest message of a version shows: whether the stream has it, or has lost or replaced it. */
export type Continuity = 'proved' | 'unproved'

/** Throws `EPOCH_CHANGED` if the stream is provably not a later state of the one at `version`. */
export async function assertContinues(
  session: Session,
  bucket: string,
  state: BucketState,
  version: NatsVersion,
): Promise<Continuity> {
  if (state.created !== version.created) throw createdAgain()
  if (state.lastSeq < version.seq) {
    const detail = `the sequence went back from ${version.seq} to ${state.lastSeq}`
    throw state.isCurrent ? forked(detail) : unavailable(`${detail}, and ${NOT_CURRENT}`)
  }
  if (version.newest === 0 || version.time === '0') return 'proved'
  const found = await readMessage(session, bucket, { seq: version.newest })
  if (found === undefined) return 'unproved'
  if (found.time !== version.time) throw forked(`its message ${version.newest} is another`)
  return 'proved'
}

/** Throws `UNAVAILABLE` if there may be another leader with a later state. */
export function assertCurrent({ isCurrent }: BucketState): void {
  if (!isCurrent) throw unavailable(NOT_CURRENT)
}

function createdAgain(): SourceError {
  return forked('the stream of the bucket was created again')
}
