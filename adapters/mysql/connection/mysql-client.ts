import { hasMethods, propertiesOf } from '../../common/properties.js'

/**
 * A connection of mysql2/promise: the result of `mysql.createConnection(…)`.
 *
 * @example
 * ```ts
 * import mysql from 'mysql2/promise'
 *
 * const connect = () => mysql.createConnection('mysql://mirror:secret@db.example.com/shop')
 * ```
 */
export interface MysqlClient {
  /** Runs one statement. */
  query(sql: string, values?: unknown[]): Promise<[unknown, unknown]>
  /** Closes the connection. */
  end(): Promise<void>
  /** Closes the connection at once. */
  destroy(): void
}

/** A packet of the server. mysql2 reuses the object and its bytes after `execute`. */
export interface MysqlPacket {
  readonly buffer: Buffer
  readonly start: number
  readonly end: number
  asError(encoding?: string): Error
}

/** A packet for the server. Its first 4 bytes are for the header. */
interface OutgoingPacket {
  readonly buffer: Buffer
  length(): number
  writeHeader(sequenceId: number): void
}

/** A command of mysql2, which owns the connection until `execute` returns true. */
export interface MysqlCommand {
  /** Called without a packet first, and then with each packet of the server. Returns whether the command has ended. */
  execute(packet: MysqlPacket | undefined, connection: MysqlCore): boolean
  onResult(error: Error): void
  /** Called by mysql2 with the option `debug`. */
  stateName(): string
}

/** The members of a connection of mysql2 without promises that a stream of events needs. */
export interface MysqlCore {
  readonly stream: {
    pause(): unknown
    resume(): unknown
    destroy(): unknown
    /** The number of received bytes. Sockets have it; other streams may not. */
    readonly bytesRead?: number
  }
  addCommand(command: MysqlCommand): unknown
  query(options: MysqlQuery, done?: (error: Error | null, result?: unknown) => void): MysqlRows
  writePacket(packet: OutgoingPacket): void
  _resetSequenceId(): void
  pause(): void
  resume(): void
  destroy(): void
  on(event: 'error' | 'end', listener: (error: Error) => void): unknown
}

export interface MysqlQuery {
  readonly sql: string
  readonly rowsAsArray?: boolean
  readonly supportBigNumbers?: boolean
  readonly bigNumberStrings?: boolean
  readonly nestTables?: boolean
  readonly namedPlaceholders?: boolean
  readonly typeCast?: (field: unknown, next: () => unknown) => unknown
}

/** The result of a statement that is sent without a callback. */
export interface MysqlRows {
  on(event: 'result' | 'error' | 'end', listener: (value: unknown) => void): unknown
}

/** The connection below the promises of mysql2; undefined for anything else. */
export function coreOf(client: unknown): MysqlCore | undefined {
  return [propertiesOf(client)['connection'], client].find(isCore)
}

function isCore(value: unknown): value is MysqlCore {
  const { stream } = propertiesOf(value)
  return (
    hasMethods(value, 'addCommand', 'query', 'writePacket', '_resetSequenceId', 'pause', 'resume', 'destroy', 'on') &&
    hasMethods(stream, 'pause', 'resume', 'destroy')
  )
}

/** Closes a connection, and its socket to a server that is gone, which would keep the process alive. */
export function closeCore(core: MysqlCore): void {
  core.destroy()
  core.stream.destroy()
}

/** COM_SET_OPTION with MYSQL_OPTION_MULTI_STATEMENTS_ON. */
const SEVERAL_STATEMENTS = Buffer.from([0x1b, 0, 0])

/** After this command a packet may have several statements, whatever the options of the connection are. */
export const allowSeveralStatements: MysqlCommand = {
  execute(packet, core) {
    if (packet !== undefined) return true
    core._resetSequenceId()
    core.writePacket(packetOf(SEVERAL_STATEMENTS))
    return false
  },
  onResult() {}, // The next command fails, too.
  stateName: () => 'option',
}

export function packetOf(content: Buffer): OutgoingPacket {
  const buffer = Buffer.concat([Buffer.alloc(4), content])
  return {
    buffer,
    length: () => buffer.length,
    writeHeader: (sequenceId) => {
      buffer.writeUIntLE(content.length, 0, 3)
      buffer.writeUInt8(sequenceId, 3)
    },
  }
}
