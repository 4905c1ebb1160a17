import type { Clock } from '../../../src/contract/clock.js'
import { SourceError } from '../../../src/contract/errors.js'
import { DeadlineScope, ReceivedBytes } from '../../common/deadline-scope.js'
import { unavailable } from '../../common/source-errors.js'
import { closeCore, type MysqlCommand, type MysqlCore, type MysqlPacket, packetOf } from '../connection/mysql-client.js'
import { mysqlError } from '../connection/mysql-errors.js'
import { encodeGtidSet, formatGtidPosition, type GtidPosition, type GtidSet } from '../gtid.js'
import type { BinlogItem } from './binlog-types.js'
import type { TransactionReader } from './transaction-reader.js'

export type BinlogStart =
  | { readonly file: string; readonly position: number }
  /** MySQL: after the transactions of the set, and without them. */
  | { readonly after: GtidSet }
  /** MariaDB: after the position, which the server must have had. */
  | { readonly afterPosition: GtidPosition }

export interface BinlogOptions {
  readonly from: BinlogStart
  readonly reader: TransactionReader
  /** Unlike that of any other reader of the server: two with the same id end each other. */
  readonly serverId: number
  /** A server that sends nothing for this many milliseconds counts as lost. It sends heartbeats each third of it. */
  readonly heartbeatTimeoutMs: number
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** While this many keys wait to be taken, the socket is not read. */
const MOST_WAITING = 20_000

const DUMP = 0x12
const DUMP_GTID = 0x1e
const THROUGH_GTID = 4
const EVENT = 0x00
const FAILED = 0xff

/**
 * Yields what the reader finds in the binary log, as soon as it arrives, and never ends by itself. `core`: a connection
 * that nothing else uses; it is closed at the end. Rejects with a SourceError:
 *
 * | code | reason |
 * |---|---|
 * | `VERSION_EXPIRED` | the server has purged the log after the start |
 * | `EPOCH_CHANGED` | the server's log does not have the start |
 * | `UNAUTHORIZED` | the user lacks REPLICATION SLAVE |
 * | `UNAVAILABLE` | the connection was lost, or another reader has the same id |
 * | `PROTOCOL` | the log is damaged, or has a format that is not known |
 */
export async function* openBinlog(
  core: MysqlCore,
  { from, reader, serverId, heartbeatTimeoutMs: ms, signal, clock }: BinlogOptions,
): AsyncGenerator<readonly BinlogItem[], never, undefined> {
  const scope = new DeadlineScope({ signal, clock })
  const dump = new DumpCommand(commandOf(from, serverId), reader, core)
  const received = new ReceivedBytes(() => core.stream.bytesRead, clock)
  const late = (): never => {
    throw unavailable(`the server sent nothing for ${ms} ms`)
  }
  // An event may take longer, and a process whose event loop was blocked has not read the bytes that have arrived.
  const deadline = () => ({ ms: ms / 4, extendMs: received.extension(ms / 4, 4), late })
  core.on('error', (error) => scope.end(mysqlError(error)))
  scope.onEnd(() => closeCore(core))
  try {
    signal.throwIfAborted()
    for (const statement of settingsOf(from, ms / 3)) await scope.race(executed(core, statement), deadline())
    core.addCommand(dump)
    for (;;) yield await scope.race(dump.next(), deadline())
  } catch (error) {
    throw mysqlError(error)
  } finally {
    scope.end(new SourceError('the stream was closed', { code: 'STOPPED' }))
    closeCore(core) // The signal may have aborted before.
  }
}

function executed(core: MysqlCore, statement: string): Promise<void> {
  return new Promise((resolve, reject) => {
    core.query({ sql: statement }, (error) => (error === null ? resolve() : reject(error)))
  })
}

/** Variables of a session that both servers read. Names of MariaDB have no effect in MySQL. */
function settingsOf(from: BinlogStart, heartbeatMs: number): string[] {
  const heartbeatNs = Math.max(1, Math.round(heartbeatMs)) * 1_000_000
  return [
    `SET @master_heartbeat_period = ${heartbeatNs}, @source_heartbeat_period = ${heartbeatNs}`,
    "SET @master_binlog_checksum = 'CRC32', @source_binlog_checksum = 'CRC32'",
    // Events of MariaDB as they are, with those that old replicas do not know.
    'SET @mariadb_slave_capability = 4',
    ...('afterPosition' in from
      ? [`SET @slave_connect_state = '${formatGtidPosition(from.afterPosition)}', @slave_gtid_strict_mode = 1`]
      : []),
  ]
}

function commandOf(from: BinlogStart, serverId: number): Buffer {
  if ('after' in from) {
    const set = encodeGtidSet(from.after)
    const head = Buffer.alloc(23)
    head.writeUInt8(DUMP_GTID, 0)
    head.writeUInt16LE(THROUGH_GTID, 1)
    head.writeUInt32LE(serverId, 3)
    head.writeBigUInt64LE(4n, 11) // Behind an empty name of a file.
    head.writeUInt32LE(set.length, 19)
    return Buffer.concat([head, set])
  }
  const { file, position } = 'file' in from ? from : { file: '', position: 4 }
  const head = Buffer.alloc(11)
  head.writeUInt8(DUMP, 0)
  head.writeUInt32LE(position, 1)
  head.writeUInt32LE(serverId, 7)
  return Buffer.concat([head, Buffer.from(file)])
}

/** The command that makes the server send its log. It owns the connection until its end. */
class DumpCommand implements MysqlCommand {
  readonly #content: Buffer
  readonly #reader: TransactionReader
  readonly #core: MysqlCore
  #items: BinlogItem[] = []
  #waiting = 0
  #error: SourceError | undefined
  #isPaused = false
  #wake: () => void = () => {}

  constructor(content: Buffer, reader: TransactionReader, core: MysqlCore) {
    this.#content = content
    this.#reader = reader
    this.#core = core
  }

  /** Returns all items that have arrived, at least one. Rejects with what ended the log. */
  async next(): Promise<readonly BinlogItem[]> {
    if (this.#isPaused) {
      this.#isPaused = false
      this.#core.stream.resume()
    }
    while (this.#items.length === 0) {
      if (this.#error !== undefined) throw this.#error
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const items = this.#items
    this.#items = []
    this.#waiting = 0
    return items
  }

  execute(packet: MysqlPacket | undefined, core: MysqlCore): boolean {
    if (packet === undefined) {
      core._resetSequenceId()
      core.writePacket(packetOf(this.#content))
    } else if (this.#error === undefined) this.#read(packet)
    return false
  }

  onResult(error: Error): void {
    this.#fail(error)
  }

  stateName(): string {
    return 'binlog'
  }

  #read(packet: MysqlPacket): void {
    const { buffer, start, end } = packet
    const first = buffer[start + 4]
    if (first === FAILED) this.#fail(packet.asError('utf8'))
    else if (first !== EVENT) this.#fail(unavailable('the server ended its log'))
    else {
      try {
        this.#add(this.#reader.read(buffer.subarray(start + 5, end)))
      } catch (error) {
        this.#fail(error)
      }
    }
  }

  #add(item: BinlogItem | undefined): void {
    if (item === undefined) return
    this.#items.push(item)
    this.#waiting += weightOf(item)
    if (this.#waiting >= MOST_WAITING && !this.#isPaused) {
      this.#isPaused = true
      this.#core.stream.pause()
    }
    this.#wake()
  }

  #fail(error: unknown): void {
    this.#error ??= mysqlError(error)
    this.#wake()
  }
}

function weightOf(item: BinlogItem): number {
  let weight = 1
  if (item.type !== 'transaction') return weight
  for (const rows of item.tables.values()) if ('keys' in rows) weight += rows.keys.size
  return weight
}
