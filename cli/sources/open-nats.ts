import type { NatsConnection } from '@nats-io/transport-node'
import { natsKvSource, natsRelayStore } from '../../adapters/nats/index.js'
import { relaySource } from '../../serving/relay/index.js'
import { messageOf } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { decodedPart, shownAddress, throwInvalidUrl } from '../args/server-url.js'
import { CliError, loadPackage } from '../output/cli-error.js'
import { engineError, withRelayRemedy } from './relay-errors.js'
import type { OpenSource, Row, SourceOptions } from './source-types.js'

/** Connection attempts of a client whose connection was lost, in milliseconds. */
const RECONNECT_MS = 500
/** A connection without a server is noticed within two of these, in milliseconds. */
const PING_MS = 5_000

export async function openNats(url: string, flags: SourceOptions): Promise<OpenSource> {
  const of = checkNatsForm(flags)
  const { connection, shown } = await connectNats(url)
  const advice = (message: string): string =>
    withRelayRemedy(message).replace(
      'stream not found',
      () => `there is no bucket "${of}": check --bucket, or create it with: nats kv add ${of}`,
    )
  return {
    source: sourceOf(connection, flags),
    kind: 'nats',
    of,
    toCliError: engineError(`cannot read from ${shown}`, advice),
    message: advice,
    ifEmpty: emptyHint(flags),
    [Symbol.dispose]: () => closeNats(connection),
  }
}

/** Returns the name of the bucket or of the relay. Throws unless exactly one is given. */
export function checkNatsForm({ bucket, relay, subjects, codec }: SourceOptions): string {
  const of = bucket ?? relay
  if (of === undefined || (bucket !== undefined && relay !== undefined))
    throw new CliError(
      `${of === undefined ? 'name the bucket to mirror' : 'mirror one of these'}: --bucket limits, or --relay orders`,
    )
  if (relay !== undefined) {
    assertRelayName(relay, '--relay')
    if (subjects !== undefined || codec !== undefined) throw new CliError('--subjects and --codec need --bucket')
  }
  return of
}

function sourceOf(
  connection: NatsConnection,
  { bucket, relay = '', subjects, codec = 'json' }: SourceOptions,
): ListerWatcher<Row> {
  return bucket === undefined
    ? relaySource<Row>({ store: natsRelayStore({ client: connection, relay }) })
    : natsKvSource<Row>({ client: connection, bucket, codec, ...(subjects === undefined ? {} : { subjects }) })
}

function emptyHint({ bucket, relay, subjects }: SourceOptions): string {
  if (bucket === undefined) return `the source of the relay "${relay}" is empty`
  return subjects === undefined
    ? `the bucket "${bucket}" has no keys`
    : `no key of the bucket "${bucket}" matches ${subjects.join(', ')}: check --subjects`
}

/** Throws unless a bucket can have this name. */
export function assertRelayName(name: string, option: string): void {
  if (!/^[\w-]+$/.test(name))
    throw new CliError(`the name of a relay in NATS has only letters, digits, - and _: choose another one by ${option}`)
}

/** Connects to the servers of a URL. The client connects again for as long as it is open. */
export async function connectNats(
  url: string,
): Promise<{ readonly connection: NatsConnection; readonly shown: string }> {
  const { shown, ...address } = addressOf(url)
  const { connect } = await loadPackage('@nats-io/transport-node', () => import('@nats-io/transport-node'))
  const options = {
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_MS,
    ignoreAuthErrorAbort: true,
    pingInterval: PING_MS,
    maxPingOut: 2,
    name: 'listwatch',
  }
  try {
    return { connection: await connect({ ...address, ...options }), shown }
  } catch (error) {
    throw new CliError(`cannot connect to ${shown}: ${adviceOf(messageOf(error))}`)
  }
}

export function closeNats(connection: NatsConnection): void {
  connection.close().catch(() => {}) // The process ends.
}

/** `nats://user:password@host:4222,host2:4222`, `nats://token@host:4222`, `tls://host:4222` */
function addressOf(url: string): {
  readonly servers: string[]
  readonly user?: string
  readonly pass?: string
  readonly token?: string
  readonly tls?: object
  readonly shown: string
} {
  const match = /^(nats|tls):\/\/(?:([^:@/?#]+)(?::([^@/?#]*))?@)?([^@/?#]+)\/?$/i.exec(url)
  if (match === null) return throwInvalidUrl('NATS', 'nats://host:4222')
  const [, scheme = '', user, password, hosts = ''] = match
  const login =
    user === undefined
      ? {}
      : password === undefined
        ? { token: decodedPart(user) }
        : { user: decodedPart(user), pass: decodedPart(password) }
  return {
    servers: hosts.split(','),
    ...login,
    ...(scheme.toLowerCase() === 'tls' ? { tls: {} } : {}),
    // A user without a password is a token.
    shown: shownAddress(scheme, password === undefined ? '' : (user ?? ''), password ?? '', hosts),
  }
}

function adviceOf(message: string): string {
  return /authorization|authentication/i.test(message)
    ? `${message}; give user and password, or a token, in the URL: nats://user:password@host:4222, nats://token@host:4222`
    : message
}
