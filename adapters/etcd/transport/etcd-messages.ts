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

export interface RangeRequest {
  readonly key: Buffer
  /** The end of the range, exclusive. Default: only `key`. */
  readonly end?: Buffer
  readonly limit?: number
  readonly revision?: number
  readonly isKeysOnly?: boolean
  readonly minModRevision?: number
  /** Sort by revision, newest first, instead of by key. */
  readonly isNewestFirst?: boolean
}

export interface RangeResponse {
  readonly header: Header
  readonly kvs: readonly KeyValue[]
  readonly hasMore: boolean
  /** The number of all keys of the range at that revision, regardless of limit and filter. */
  readonly count: number
}

/** A comparison of a stored value with a text, byte by byte. It fails if the key does not exist. */
export interface ValueComparison {
  readonly key: Buffer
  readonly is: 'greater' | 'less'
  readonly value: Buffer
}

/** Whether a key does not exist. */
export interface AbsenceComparison {
  readonly key: Buffer
  readonly is: 'absent'
}

export type Comparison = ValueComparison | AbsenceComparison

export type TxnOperation =
  | { readonly type: 'range'; readonly range: RangeRequest }
  | { readonly type: 'put'; readonly key: Buffer; readonly value: Buffer }
  | { readonly type: 'delete'; readonly key: Buffer }
  | { readonly type: 'txn'; readonly txn: TxnRequest }

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
  readonly end: Buffer
  /** 0: from now on. */
  readonly startRevision: number
  readonly hasFragments: boolean
}

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

export function encodeRange(request: RangeRequest): Buffer {
  return new WireWriter()
    .bytes(1, request.key)
    .bytes(2, request.end ?? NOTHING)
    .number(3, request.limit)
    .number(4, request.revision)
    .number(5, request.isNewestFirst === true ? 2 : 0)
    .number(6, request.isNewestFirst === true ? 3 : 0)
    .flag(8, request.isKeysOnly)
    .number(10, request.minModRevision)
    .finish()
}

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

export const COMPARE_RESULTS = { absent: 0, greater: 1, less: 2 } as const
export const COMPARE_CREATE_REVISION = 1
export const COMPARE_VALUE = 3

export function encodeTxn({ compare, success, failure }: TxnRequest): Buffer {
  const writer = new WireWriter()
  for (const each of compare) writer.message(1, encodeComparison(each))
  for (const each of success) writer.message(2, encodeOperation(each))
  for (const each of failure) writer.message(3, encodeOperation(each))
  return writer.finish()
}

function encodeComparison(comparison: Comparison): Buffer {
  const { key, is } = comparison
  const writer = new WireWriter().number(1, COMPARE_RESULTS[is])
  // The create revision of a key that does not exist is 0, which is not written.
  if (comparison.is === 'absent') return writer.number(2, COMPARE_CREATE_REVISION).bytes(3, key).finish()
  return writer.number(2, COMPARE_VALUE).bytes(3, key).bytes(7, comparison.value).finish()
}

function encodeOperation(operation: TxnOperation): Buffer {
  const writer = new WireWriter()
  switch (operation.type) {
    case 'range':
      return writer.message(1, encodeRange(operation.range)).finish()
    case 'put':
      return writer.message(2, new WireWriter().bytes(1, operation.key).bytes(2, operation.value).finish()).finish()
    case 'delete':
      return writer.message(3, new WireWriter().bytes(1, operation.key).finish()).finish()
    case 'txn':
      return writer.message(4, encodeTxn(operation.txn)).finish()
  }
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

export function encodeWatch({ key, end, startRevision, hasFragments }: WatchRequest): Buffer {
  const create = new WireWriter()
    .bytes(1, key)
    .bytes(2, end)
    .number(3, startRevision)
    .flag(4, true) // Periodic progress notifications.
    .flag(8, hasFragments)
  return new WireWriter().message(1, create.finish()).finish()
}

export function encodeProgressRequest(): Buffer {
  return new WireWriter().message(3, NOTHING).finish()
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
