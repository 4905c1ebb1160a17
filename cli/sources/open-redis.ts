import {
  type RedisClient,
  redisCollectionSource,
  redisKeysSource,
  redisRelayStore,
  redisStreamSource,
  type StreamDecode,
} from '../../adapters/redis/index.js'
import { Session } from '../../adapters/redis/internal.js'
import { relaySource } from '../../serving/relay/index.js'
import { systemClock } from '../../src/contract/clock.js'
import { messageOf, SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { decodedPart, shownAddress, throwInvalidUrl } from '../args/server-url.js'
import { CliError, loadPackage } from '../output/cli-error.js'
import { engineError, withRelayRemedy } from './relay-errors.js'
import type { OpenSource, Row, SourceOptions } from './source-types.js'

export async function openRedis(url: string, flags: SourceOptions): Promise<OpenSource> {
  const of = checkForm(flags)
  const { shown, ...address } = addressOf(url)
  const { Redis, Cluster } = await loadPackage('ioredis', () => import('ioredis'))
  const { host, port, ...redisOptions } = address
  const advice = (message: string): string =>
    withRelayRemedy(adviceOf(message)).replace(
      /see the guide for the ACL[^)]*/,
      () => redisAclHint(flags, address.username ?? 'default', address.db), // It may have a `$`.
    )
  const failure = engineError(`cannot connect to ${shown}`, advice)
  const single = new Redis({ ...address, lazyConnect: true })
  if (flags.cluster === true) {
    await assertClusterNode(single).catch((error: unknown) => {
      throw error instanceof SourceError ? failure(error) : error
    })
  }
  const client: RedisClient & { disconnect(): void } =
    flags.cluster === true ? new Cluster([{ host, port }], { redisOptions }) : single
  if (flags.cluster === true) Object(client).on('error', () => {}) // The source's own connections report the same errors.
  return {
    source: sourceOf(client, flags),
    kind: 'redis',
    of,
    toCliError: failure,
    message: advice,
    ifEmpty: emptyHint(flags),
    [Symbol.dispose]: () => client.disconnect(),
  }
}

/** Returns the name of the mirrored collection. Throws unless exactly one is given. */
export function checkForm({ collection, relay, stream, keys, key, fold, codec }: SourceOptions): string {
  const given = [collection, relay, stream, keys].filter((name) => name !== undefined)
  const [of, more] = given
  if (of === undefined || more !== undefined)
    throw new CliError(
      `${of === undefined ? 'name the collection to mirror' : 'mirror one of these'}: --collection orders, --stream events, or --keys "user:*"`,
    )
  if (keys !== undefined && !/^.+\*$/.test(keys))
    throw new CliError('--keys must be the prefix of the keys, and a star in quotes: "user:*"')
  if (keys !== undefined && /[*?[\\]/.test(keys.slice(0, -1)))
    throw new CliError('--keys must be a prefix without * ? [ and \\, and one star at its end: "user:*"')
  if (stream === undefined && (key !== undefined || fold === true)) throw new CliError('--key and --fold need --stream')
  if ((stream !== undefined || relay !== undefined) && codec !== undefined)
    throw new CliError(
      `--codec needs --collection or --keys; ${relay === undefined ? 'the fields of a stream are shown unchanged' : 'a relay has a format of its own'}`,
    )
  return of
}

function sourceOf(
  client: RedisClient,
  { collection, relay, stream, keys = '', key = 'id', fold, codec = 'json' }: SourceOptions,
): ListerWatcher<Row> {
  if (relay !== undefined) return relaySource<Row>({ store: redisRelayStore({ client, relay }) })
  if (collection !== undefined) return redisCollectionSource<Row>({ client, collection, codec })
  if (stream === undefined) return redisKeysSource<Row>({ client, prefix: keys.slice(0, -1), codec })
  return redisStreamSource<Row>({
    client,
    stream,
    decode: decodeBy(key),
    whenTrimmed: fold === true ? 'fold' : 'refuse',
  })
}

/** Decodes an entry to the object of its fields, under the key in `field`. An entry with no other field is a delete. */
function decodeBy(field: string): StreamDecode<Row> {
  return (fields, id) => {
    const key = fields.get(field)
    if (key === undefined)
      throw new TypeError(
        `the entry ${id} has no field "${field}"; it has ${[...fields.keys()].join(', ')}: name the field with the key by --key`,
      )
    return { key, object: fields.size === 1 ? undefined : Object.fromEntries(fields) }
  }
}

export interface Address {
  readonly host: string
  readonly port: number
  readonly db?: number
  readonly username?: string
  readonly password?: string
  readonly tls?: object
  readonly shown: string
}

/** `redis://user:password@host:6379/0` */
export function addressOf(url: string): Address {
  const match =
    /^(rediss?):\/\/(?:([^:@/?#]*):([^/?#]*)@)?([^@/?#:]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?(?:\/(\d{0,4}))?$/i.exec(url)
  if (match === null) return throwInvalidUrl('Redis', 'redis://host:6379')
  const [, scheme = '', username = '', password = '', host = '', port = '6379', db = ''] = match
  return {
    host: host.replace(/^\[|\]$/g, ''),
    port: Number(port),
    ...(db === '' ? {} : { db: Number(db) }),
    ...(username === '' ? {} : { username: decodedPart(username) }),
    ...(password === '' ? {} : { password: decodedPart(password) }),
    ...(scheme === 'rediss' ? { tls: {} } : {}),
    shown: shownAddress(scheme, username, password, `${host}:${port}${db === '' ? '' : `/${db}`}`),
  }
}

function emptyHint({ collection, relay, stream, keys }: SourceOptions): string {
  const database = 'the database at the end of the URL'
  if (relay !== undefined) return `the source of the relay "${relay}" is empty`
  if (collection !== undefined)
    return `nothing is in the collection "${collection}" yet: check its name and ${database}; a redisWriter creates it`
  return stream === undefined
    ? `no string has a key like "${keys}" yet: check the prefix and ${database}`
    : `nothing is in the stream "${stream}" yet: check its name and ${database}`
}

/** Replaces names of the adapter's options by those of the command line. */
function adviceOf(message: string): string {
  return message
    .replace(
      "check the client's username and password",
      'give user and password in the URL: redis://user:password@host:6379',
    )
    .replace("check the client's option tls", 'rediss:// speaks TLS, redis:// does not')
    .replace("check the client's option db", 'the number at the end of the URL is the database')
    .replace('its slot was moved, or the client is a Redis instead of a Cluster', 'add --cluster')
    .replace('use the address of the master, or of the Sentinels', 'use the address of the master')
    .replace(
      "add the option snapshot, or whenTrimmed: 'fold' if the newest entry of each key always remains",
      'add --fold to mirror the remaining entries',
    )
    .replace('raise maxKeys', 'the command line mirrors fewer')
}

const TIMEOUT_MS = 10_000

/** If the server is not a node of a cluster, ioredis' Cluster only reconnects, without an error. */
async function assertClusterNode(client: RedisClient): Promise<void> {
  const { signal } = new AbortController()
  const session = await Session.open(client, { signal, clock: systemClock, timeoutMs: TIMEOUT_MS })
  try {
    await session.command(['CLUSTER', 'SLOTS'])
  } catch (error) {
    if (/cluster support disabled/.test(messageOf(error)))
      throw new CliError('the server is not a node of a cluster: leave out --cluster')
  } finally {
    session.close()
  }
}

/** The command that grants a user of Redis 7 the rights that a mirror needs. */
export function redisAclHint({ collection, stream, keys = '', cluster }: SourceOptions, user: string, db = 0): string {
  const more = `${db === 0 ? '' : ' +select'}${cluster === true ? ' +cluster|slots' : ''}`
  return `ACL SETUSER ${user} ${rulesFor(collection, stream, keys)} +role +info${more}`
}

function rulesFor(collection: string | undefined, stream: string | undefined, keys: string): string {
  if (collection !== undefined) return `%R~{${collection}}:* +hmget +hlen +hscan +xread +xrevrange +multi +exec +time`
  if (stream !== undefined) return `%R~${stream} +xread +xrange +xinfo|stream +multi +exec +eval`
  return `%R~${keys} &__redis__:invalidate +scan +mget +subscribe +ping +client|id +client|tracking`
}
