import { propertiesOf } from '../../common/properties.js'
import { WireReader, WireWriter } from './protobuf.js'
import { ReceivedEntry } from './received-entry.js'

/** The header of each response of etcd. */
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

/** Sorts a range by revision, newest first, instead of by key. */
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

/**
 * One atomic step: `success` if all comparisons hold, else `failure`. The operations see the effects of those before
 * them.
 */
export interface TxnRequest {
  readonly compare: readonly Comparison[]
  readonly success: readonly TxnOperation[]
  readonly failure: readonly TxnOperation[]
}

export interface TxnResponse {
  readonly header: Header
  readonly hasSucceeded: boolean
  /** The responses of the range operations, in order. */
  readonly ranges: readonly Omit<RangeResponse, 'header'>[]
}

export interface WatchRequest {
  readonly key: Buffer
  readonly range_end: Buffer
  /** 0: from now on. */
  readonly start_revision: number
  /** Whether large messages come in fragments. */
  readonly fragment: boolean
}

/** A message to a watch stream. */
export interface WatchCommand {
  readonly create_request?: WatchRequest & { readonly progress_notify: true }
  readonly progress_request?: {}
}

/** Creates a watch, with periodic progress notifications. */
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

/** The status of a member. */
export interface ServerStatus {
  /** `3.6.16` */
  readonly version: string
  /** The raft index of the member. Within one history it never decreases. */
  readonly raftIndex: number
}

const NOTHING: Buffer = Buffer.alloc(0)
/** Of a response without one. */
export const NO_HEADER: Header = { clusterId: '0', revision: 0, term: 0 }

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

export function decodeRange(bytes: Buffer): RangeResponse {
  const reader = new WireReader(bytes)
  let [header, hasMore, count] = [NO_HEADER, false, 0]
  const kvs: KeyValue[] = []
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 10) header = decodeHeader(reader.message())
    else if (tag === 18) kvs.push(decodeKeyValue(bytes, reader.message()))
    else if (tag === 24) hasMore = reader.isTrue()
    else if (tag === 32) count = reader.varint()
    else reader.skip(tag)
  }
  return { header, kvs, hasMore, count }
}

/** A part of a range that the server streams. */
export function decodeRangePart(bytes: Buffer): RangeResponse {
  const reader = new WireReader(bytes)
  return decodeRange(reader.tag() === 10 ? reader.bytes() : NOTHING)
}

export function decodeTxn(bytes: Buffer): TxnResponse {
  const reader = new WireReader(bytes)
  let [header, hasSucceeded] = [NO_HEADER, false]
  const ranges: RangeResponse[] = []
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 10) header = decodeHeader(reader.message())
    else if (tag === 16) hasSucceeded = reader.isTrue()
    else if (tag === 26) {
      const operation = reader.message()
      for (let inner = operation.tag(); inner !== 0; inner = operation.tag()) {
        if (inner === 10) ranges.push(decodeRange(operation.bytes()))
        else operation.skip(inner)
      }
    } else reader.skip(tag)
  }
  return { header, hasSucceeded, ranges }
}

export function decodeWatch(bytes: Buffer): WatchResponse {
  const reader = new WireReader(bytes)
  let [header, isCreated, isCanceled, isFragment] = [NO_HEADER, false, false, false]
  let [compactRevision, cancelReason] = [0, '']
  const events: EtcdEvent[] = []
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 90) events.push(decodeEvent(bytes, reader.message()))
    else if (tag === 10) header = decodeHeader(reader.message())
    else if (tag === 24) isCreated = reader.isTrue()
    else if (tag === 32) isCanceled = reader.isTrue()
    else if (tag === 40) compactRevision = reader.varint()
    else if (tag === 50) cancelReason = reader.text()
    else if (tag === 56) isFragment = reader.isTrue()
    else reader.skip(tag)
  }
  return { header, isCreated, isCanceled, compactRevision, cancelReason, isFragment, events }
}

export function encodeAuthenticate(name: string, password: string): Buffer {
  return new WireWriter().bytes(1, Buffer.from(name)).bytes(2, Buffer.from(password)).finish()
}

export function decodeToken(bytes: Buffer): string {
  const reader = new WireReader(bytes)
  let token = ''
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 18) token = reader.text()
    else reader.skip(tag)
  }
  return token
}

export function decodeStatus(bytes: Buffer): ServerStatus {
  const reader = new WireReader(bytes)
  let [version, raftIndex] = ['', 0]
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 18) version = reader.text()
    else if (tag === 40) raftIndex = reader.varint()
    else reader.skip(tag)
  }
  return { version, raftIndex }
}

function decodeHeader(reader: WireReader): Header {
  let [clusterId, revision, term] = ['0', 0, 0]
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 8) clusterId = reader.uint64().toString(16)
    else if (tag === 24) revision = reader.varint()
    else if (tag === 32) term = reader.varint()
    else reader.skip(tag)
  }
  return { clusterId, revision, term }
}

function decodeEvent(bytes: Buffer, reader: WireReader): EtcdEvent {
  let isDelete = false
  let kv: KeyValue = { key: NOTHING, value: NOTHING, createRevision: 0, modRevision: 0 }
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 18) kv = decodeKeyValue(bytes, reader.message())
    else if (tag === 8) isDelete = reader.isTrue()
    else reader.skip(tag)
  }
  return { isDelete, kv }
}

/** Decodes the entry that `reader` reads, a part of `bytes`. */
function decodeKeyValue(bytes: Buffer, reader: WireReader): KeyValue {
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
  return new ReceivedEntry(bytes, keyAt, keyEnd, valueAt, valueEnd, createRevision, modRevision)
}
