import { elementsOf, propertiesOf } from '../../common/properties.js'
import { WireReader, WireWriter } from './protobuf.js'
import { ReceivedEntry } from './received-entry.js'

export interface Header {
  /** In hexadecimal, as in etcd's tools. */
  readonly clusterId: string
  readonly revision: number
  readonly term: number
}

export interface KeyValue {
  readonly key: Buffer
  readonly value: Buffer
  readonly createRevision: number
  readonly modRevision: number
}

// Requests have the names of etcd's rpc.proto, which an `Etcd3` takes as they are.

export interface RangeRequest {
  readonly key: Buffer
  /** The end of the range, exclusive. Default: only `key`. */
  readonly range_end?: Buffer
  readonly limit?: number
  readonly revision?: number
  readonly keys_only?: boolean
  readonly min_mod_revision?: number
  readonly sort_order?: number
  readonly sort_target?: number
}

export const NEWEST_FIRST = { sort_order: 2, sort_target: 3 } as const

export interface RangeResponse {
  readonly header: Header
  readonly kvs: readonly KeyValue[]
  readonly hasMore: boolean
  /** The number of all keys of the range at that revision, regardless of limit and filter. */
  readonly count: number
}

export interface Comparison {
  readonly key: Buffer
  readonly result: number
  readonly target: number
  readonly value?: Buffer
}

/** Whether a key does not exist: its create revision is 0. */
export const isAbsent = (key: Buffer): Comparison => ({ key, result: 0, target: 1 })
/** Whether the stored value is greater than a text, byte by byte; false if the key does not exist. */
export const isGreater = (key: Buffer, text: string): Comparison => isValue(key, 1, text)
/** Whether the stored value is less than a text; false if the key does not exist. */
export const isLess = (key: Buffer, text: string): Comparison => isValue(key, 2, text)

function isValue(key: Buffer, result: number, text: string): Comparison {
  return { key, result, target: 3, value: Buffer.from(text) }
}

/** It has one of these. */
export interface TxnOperation {
  readonly request_range?: RangeRequest
  readonly request_put?: { readonly key: Buffer; readonly value: Buffer }
  readonly request_delete_range?: { readonly key: Buffer }
  readonly request_txn?: TxnRequest
}

/** An atomic step: `success` if all comparisons hold, else `failure`. Operations see the effects of earlier ones. */
export interface TxnRequest {
  readonly compare: readonly Comparison[]
  readonly success: readonly TxnOperation[]
  readonly failure: readonly TxnOperation[]
}

export interface TxnResponse {
  readonly header: Header
  readonly hasSucceeded: boolean
  /** The responses of the operations, in order. That of an operation that reads no range is empty. */
  readonly operations: readonly { readonly range: RangeResponse }[]
}

export interface WatchRequest {
  readonly key: Buffer
  readonly range_end: Buffer
  /** 0: from now on. */
  readonly start_revision: number
  readonly fragment: boolean
}

export interface WatchCommand {
  readonly create_request?: WatchRequest & { readonly progress_notify: true }
  readonly progress_request?: {}
}

export function createWatch(request: WatchRequest): WatchCommand {
  return { create_request: { ...request, progress_notify: true } }
}

export const REQUEST_PROGRESS: WatchCommand = { progress_request: {} }

export interface EtcdEvent {
  readonly isDelete: boolean
  readonly kv: KeyValue
}

export interface WatchResponse {
  readonly header: Header
  readonly isCreated: boolean
  readonly isCanceled: boolean
  readonly compactRevision: number
  readonly cancelReason: string
  /** Whether the next message continues the same revisions. */
  readonly isFragment: boolean
  readonly events: readonly EtcdEvent[]
}

export interface ServerStatus {
  /** `3.6.16` */
  readonly version: string
  /** The raft index of the member. Within one history it never decreases. */
  readonly raftIndex: number
}

// Field numbers are those of etcd's rpc.proto, kv.proto and auth.proto.

/** The numbers of the fields of a message, by their names. That of a message inside of it has those of its fields. */
interface Fields {
  readonly [name: string]: number | readonly [number, Fields]
}

const RANGE: Fields = {
  key: 1,
  range_end: 2,
  limit: 3,
  revision: 4,
  sort_order: 5,
  sort_target: 6,
  keys_only: 8,
  min_mod_revision: 10,
}
const OPERATION: Fields = {
  request_range: [1, RANGE],
  request_put: [2, { key: 1, value: 2 }],
  request_delete_range: [3, { key: 1 }],
  get request_txn() {
    return [4, TXN] as const
  },
}
const TXN: Fields = {
  compare: [1, { result: 1, target: 2, key: 3, value: 7 }],
  success: [2, OPERATION],
  failure: [3, OPERATION],
}
const WATCH: Fields = {
  create_request: [1, { key: 1, range_end: 2, start_revision: 3, progress_notify: 4, fragment: 8 }],
  progress_request: [3, {}],
}

function encode(message: object, fields: Fields): Buffer {
  const writer = new WireWriter()
  for (const [name, numbers] of Object.entries(fields)) {
    const [field, inner] = typeof numbers === 'number' ? [numbers] : numbers
    for (const value of [propertiesOf(message)[name]].flat()) {
      if (value instanceof Uint8Array) writer.bytes(field, value)
      else if (inner === undefined) writer.number(field, Number(value ?? 0))
      else if (typeof value === 'object' && value !== null) writer.message(field, encode(value, inner))
    }
  }
  return writer.finish()
}

export const encodeRange = (request: RangeRequest): Buffer => encode(request, RANGE)
export const encodeTxn = (request: TxnRequest): Buffer => encode(request, TXN)
export const encodeWatch = (command: WatchCommand): Buffer => encode(command, WATCH)

/** How a value is read from the bytes of a response, and from a message that an `Etcd3` has decoded. */
interface Kind<V> {
  /** The wire type: 0 for a number, 2 for bytes. */
  readonly wire: 0 | 2
  /** Of a message without the field. */
  readonly empty: V
  /** `before`: what the fields with the same number have shown so far. */
  read(reader: WireReader, before: V): V
  /** Its 64-bit numbers are strings. */
  of(value: unknown): V
}

export interface Message<T> extends Kind<T> {
  decode(bytes: Buffer): T
}

const number: Kind<number> = { wire: 0, empty: 0, read: (reader) => reader.varint(), of: Number }
const flag: Kind<boolean> = { wire: 0, empty: false, read: (reader) => reader.varint() !== 0, of: Boolean }
const isDelete: Kind<boolean> = { ...flag, of: (value) => value === 'Delete' }
const text: Kind<string> = { wire: 2, empty: '', read: (reader) => reader.bytes().toString(), of: String }
/** In hexadecimal. */
const id: Kind<string> = {
  wire: 0,
  empty: '0',
  read: (reader) => reader.uint64().toString(16),
  of: (value) => BigInt(String(value)).toString(16),
}
const bytes: Kind<Buffer> = {
  wire: 2,
  empty: Buffer.alloc(0),
  read: (reader) => reader.bytes(),
  of: (value) => value as Buffer,
}

function listOf<V>({ wire, empty, read, of }: Kind<V>): Kind<readonly V[]> {
  return {
    wire,
    empty: [],
    read: (reader, before) => {
      const all = before.length === 0 ? [] : (before as V[])
      all.push(read(reader, empty))
      return all
    },
    of: (values) => elementsOf(values).map(of),
  }
}

/** `fields`: the name in a message of an `Etcd3`, the number and the kind of each field. */
function message<T extends object>(
  fields: {
    readonly [K in keyof T]: readonly [given: string, field: number, kind: Kind<T[K]>]
  },
): Message<T> {
  const all = Object.entries<readonly [string, number, Kind<unknown>]>(fields)
  const byTag: ({ readonly name: string; readonly kind: Kind<unknown> } | undefined)[] = []
  for (const [name, [, field, kind]] of all) byTag[field * 8 + kind.wire] = { name, kind }
  const empty: Readonly<Record<string, unknown>> = Object.fromEntries(
    all.map(([name, [, , kind]]) => [name, kind.empty]),
  )
  const read = (reader: WireReader): T => {
    const made = { ...empty }
    for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
      const field = byTag[tag]
      if (field === undefined) reader.skip(tag)
      else made[field.name] = field.kind.read(reader, made[field.name])
    }
    return made as T
  }
  const of = (value: unknown): T => {
    const given = propertiesOf(value)
    return Object.fromEntries(all.map(([name, [own, , kind]]) => [name, kind.of(given[own])])) as T
  }
  return {
    wire: 2,
    empty: empty as T,
    decode: (response) => read(new WireReader(response)),
    read: (reader) => read(reader.message()),
    of: (value) => (value == null ? (empty as T) : of(value)),
  }
}

const HEADER = message<Header>({
  clusterId: ['cluster_id', 1, id],
  revision: ['revision', 3, number],
  term: ['raft_term', 4, number],
})
const ENTRY: Kind<KeyValue> = {
  ...message<KeyValue>({
    key: ['key', 1, bytes],
    createRevision: ['create_revision', 2, number],
    modRevision: ['mod_revision', 3, number],
    value: ['value', 5, bytes],
  }),
  read: (reader) => readEntry(reader.message()),
}
export const RANGE_RESPONSE: Message<RangeResponse> = message<RangeResponse>({
  header: ['header', 1, HEADER],
  kvs: ['kvs', 2, listOf(ENTRY)],
  hasMore: ['more', 3, flag],
  count: ['count', 4, number],
})
export const RANGE_PART: Message<{ readonly range: RangeResponse }> = message({ range: ['', 1, RANGE_RESPONSE] })
export const TXN_RESPONSE: Message<TxnResponse> = message<TxnResponse>({
  header: ['header', 1, HEADER],
  hasSucceeded: ['succeeded', 2, flag],
  operations: ['responses', 3, listOf(message({ range: ['response_range', 1, RANGE_RESPONSE] }))],
})
export const WATCH_RESPONSE: Message<WatchResponse> = message<WatchResponse>({
  header: ['header', 1, HEADER],
  isCreated: ['created', 3, flag],
  isCanceled: ['canceled', 4, flag],
  compactRevision: ['compact_revision', 5, number],
  cancelReason: ['cancel_reason', 6, text],
  isFragment: ['fragment', 7, flag],
  events: ['events', 11, listOf(message<EtcdEvent>({ isDelete: ['type', 1, isDelete], kv: ['kv', 2, ENTRY] }))],
})
export const STATUS_RESPONSE: Message<ServerStatus> = message<ServerStatus>({
  version: ['version', 2, text],
  raftIndex: ['raftIndex', 5, number],
})
export const TOKEN_RESPONSE: Message<{ readonly token: string }> = message({ token: ['token', 2, text] })

export const NO_HEADER: Header = HEADER.empty

export function encodeAuthenticate(name: string, password: string): Buffer {
  return new WireWriter().bytes(1, Buffer.from(name)).bytes(2, Buffer.from(password)).finish()
}

/** Entries are most of a list: their keys and values are not copied. */
function readEntry(reader: WireReader): KeyValue {
  let [keyLength, keyEnd, valueLength, valueEnd, createRevision, modRevision] = [0, 0, 0, 0, 0, 0]
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 10) {
      keyLength = reader.passBytes()
      keyEnd = reader.at
    } else if (tag === 42) {
      valueLength = reader.passBytes()
      valueEnd = reader.at
    } else if (tag === 16) createRevision = reader.varint()
    else if (tag === 24) modRevision = reader.varint()
    else reader.skip(tag)
  }
  const [keyAt, valueAt] = [keyEnd - keyLength, valueEnd - valueLength]
  return new ReceivedEntry(reader.source, keyAt, keyEnd, valueAt, valueEnd, createRevision, modRevision)
}
