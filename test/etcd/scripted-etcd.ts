import {
  type handleBidiStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
} from '@grpc/grpc-js'
import { WireWriter } from '../../adapters/etcd/transport/protobuf.js'

/** What happened under a key, at a revision; without a value it was deleted. */
export interface ScriptedEvent {
  readonly key: string
  readonly value?: string
  readonly revision: number
}

/** The field `keys_only` of a range request. */
const KEYS_ONLY = Buffer.from([0x40, 1])

const asIs = (bytes: Buffer): Buffer => bytes

/** A fake etcd with scripted responses, such as those of versions that are no longer available. It ignores progress requests. */
export class ScriptedEtcd implements AsyncDisposable {
  readonly streams = new Set<ServerDuplexStream<Buffer, Buffer>>()
  clusterId = 7
  /** Whether it refuses what kine refuses. Its cluster id is then 0. */
  isKine = false
  revision = 10
  version = '3.6.16'
  /** How many keys it says there are. */
  count = 0
  ranges = 0
  /** The newest entry, which is all that it returns for a range. */
  #newest: Buffer | undefined
  #port = 0
  readonly #server = new Server()

  static async start(): Promise<ScriptedEtcd> {
    const etcd = new ScriptedEtcd()
    await etcd.#listen()
    return etcd
  }

  get endpoint(): string {
    return `127.0.0.1:${this.#port}`
  }

  /** Sends events to each watch, optionally with another revision in the header. */
  tell(events: readonly ScriptedEvent[], headerRevision: number = this.revision): void {
    this.send(this.#header(new WireWriter(), headerRevision), events)
  }

  replaceNewest(key: string, value: string, revision: number): void {
    this.#newest = new WireWriter()
      .bytes(1, Buffer.from(key))
      .number(2, revision)
      .number(3, revision)
      .bytes(5, Buffer.from(value))
      .finish()
  }

  cancel(reason: string): void {
    this.send(this.#header(new WireWriter(), this.revision).number(4, 1).bytes(6, Buffer.from(reason)), [])
  }

  garbage(): void {
    for (const stream of this.streams) stream.write(Buffer.from([0x5a, 0xff, 0xff, 0xff, 0x7f]))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown()
  }

  send(message: WireWriter, events: readonly ScriptedEvent[]): void {
    for (const { key, value, revision } of events) {
      const kv = new WireWriter()
        .bytes(1, Buffer.from(key))
        .number(2, value === undefined ? 0 : revision)
        .number(3, revision)
        .bytes(5, Buffer.from(value ?? ''))
      if (value !== undefined) this.#newest = kv.finish()
      message.message(
        11,
        new WireWriter()
          .number(1, Number(value === undefined))
          .message(2, kv.finish())
          .finish(),
      )
    }
    const bytes = message.finish()
    for (const stream of this.streams) stream.write(bytes)
  }

  #header(message: WireWriter, revision: number): WireWriter {
    return message.message(
      1,
      new WireWriter()
        .number(1, this.isKine ? 0 : this.clusterId)
        .number(3, revision)
        .number(4, 2)
        .finish(),
    )
  }

  async #listen(): Promise<void> {
    const range: handleUnaryCall<Buffer, Buffer> = ({ request }, answer) => {
      this.ranges++
      if (this.isKine && request.includes(KEYS_ONLY)) return answer({ code: 2, details: 'keysOnly is unsupported' })
      const response = this.#header(new WireWriter(), this.revision)
      if (this.#newest !== undefined) response.message(2, this.#newest)
      answer(null, response.number(4, this.count).finish())
    }
    const status: handleUnaryCall<Buffer, Buffer> = (_call, answer) =>
      answer(null, this.#header(new WireWriter(), this.revision).bytes(2, Buffer.from(this.version)).finish())
    const watch: handleBidiStreamingCall<Buffer, Buffer> = (stream) => {
      stream.on('data', () => {
        if (this.streams.has(stream)) return
        this.streams.add(stream)
        stream.write(this.#header(new WireWriter(), this.revision).number(3, 1).finish())
      })
      stream.on('error', () => {})
      stream.on('end', () => stream.end())
      stream.on('cancelled', () => this.streams.delete(stream))
    }
    const method = (path: string, isStream: boolean) => ({
      path,
      requestStream: isStream,
      responseStream: isStream,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    })
    this.#server.addService(
      {
        range: method('/etcdserverpb.KV/Range', false),
        status: method('/etcdserverpb.Maintenance/Status', false),
        watch: method('/etcdserverpb.Watch/Watch', true),
      },
      { range, status, watch },
    )
    this.#port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      )
    })
  }
}
