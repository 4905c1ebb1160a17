import type { RedisClient, StreamDecode } from '../../adapters/redis/index.js'
import { redisCollection, redisKeys, redisStream } from '../../adapters/redis/index.js'
import { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { decodedPart, shownAddress, throwInvalidUrl } from '../args/server-url.js'
import { CliError, loadPackage } from '../output/cli-error.js'
import { durationOf, type Row, runWatch, type WatchFlags } from '../output/watch-runner.js'
import { assertClusterNode } from './assert-cluster-node.js'
import { redisAclHint } from './redis-acl-hint.js'

export interface RedisFlags extends WatchFlags {
  readonly collection?: string
  readonly stream?: string
  readonly keys?: string
  readonly key?: string
  readonly fold?: boolean
  readonly cluster?: boolean
  readonly codec?: 'json' | 'string' | 'bytes'
}

/** Mirrors a collection, a stream or plain keys of the user's, and tells of it. */
export async function watchRedis(url: string, flags: RedisFlags): Promise<void> {
  durationOf(flags) // Before anything is opened.
  const of = checkForm(flags)
  const { shown, ...address } = addressOf(url)
  const { Redis, Cluster } = await loadPackage('ioredis', () => import('ioredis'), 'npm i ioredis')
  const { host, port, ...redisOptions } = address
  const advice = (message: string): string =>
    adviceOf(message).replace(
      /see the guide for the ACL[^)]*/,
      redisAclHint(flags, address.username ?? 'default', address.db),
    )
  const failure = ({ code, message }: SourceError): CliError =>
    new CliError(`${code === 'UNAVAILABLE' ? `cannot connect to ${shown}: ` : ''}${advice(message)}`)
  const single = new Redis({ ...address, lazyConnect: true })
  if (flags.cluster === true) {
    await assertClusterNode(single).catch((error: unknown) => {
      throw error instanceof SourceError ? failure(error) : error
    })
  }
  const client: RedisClient & { disconnect(): void } =
    flags.cluster === true ? new Cluster([{ host, port }], { redisOptions }) : single
  if (flags.cluster === true) Object(client).on('error', () => {}) // Our own connections say it better.
  try {
    const ifEmpty = emptyHint(flags)
    await runWatch(sourceOf(client, flags), flags, { kind: 'redis', of, toCliError: failure, message: advice, ifEmpty })
  } finally {
    client.disconnect()
  }
}

/** What is mirrored, in the user's words; refuses none and several. */
function checkForm({ collection, stream, keys, key, fold, codec }: RedisFlags): string {
  const given = [collection, stream, keys].filter((name) => name !== undefined)
  const [of, more] = given
  if (of === undefined || more !== undefined)
    throw new CliError(
      `${of === undefined ? 'say what to mirror' : 'mirror one of these'}: --collection orders, --stream events, or --keys "user:*"`,
    )
  if (keys !== undefined && !/^.+\*$/.test(keys))
    throw new CliError('--keys must be what the keys begin with, and a star in quotes: "user:*"')
  if (keys !== undefined && /[*?[\\]/.test(keys.slice(0, -1)))
    throw new CliError(
      '--keys is no pattern: what the keys begin with, without * ? [ and \\, and one star at its end: "user:*"',
    )
  if (stream === undefined && (key !== undefined || fold === true))
    throw new CliError('--key and --fold are of --stream')
  if (stream !== undefined && codec !== undefined)
    throw new CliError('--codec is of --collection and --keys; the fields of a stream are shown as they are')
  return of
}

function sourceOf(
  client: RedisClient,
  { collection, stream, keys = '', key = 'id', fold, codec = 'json' }: RedisFlags,
): ListerWatcher<Row> {
  if (collection !== undefined) return redisCollection<Row>({ client, name: collection, codec })
  if (stream === undefined) return redisKeys<Row>({ client, prefix: keys.slice(0, -1), codec })
  return redisStream<Row>({
    client,
    stream,
    decode: decodeBy(key),
    whenTrimmed: fold === true ? 'fold' : 'refuse',
  })
}

/** An entry's fields under what one of them says; an entry with nothing else says that there is nothing any more. */
function decodeBy(field: string): StreamDecode<Row> {
  return (fields, id) => {
    const key = fields.get(field)
    if (key === undefined)
      throw new TypeError(
        `the entry ${id} has no field "${field}"; it has ${[...fields.keys()].join(', ')}: say with --key which one names what it speaks of`,
      )
    return { key, object: fields.size === 1 ? undefined : Object.fromEntries(fields) }
  }
}

interface Address {
  readonly host: string
  readonly port: number
  readonly db?: number
  readonly username?: string
  readonly password?: string
  readonly tls?: object
  /** As it may be printed. */
  readonly shown: string
}

/** `redis://user:password@host:6379/0` */
function addressOf(url: string): Address {
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

/** What to check if nothing is there. */
function emptyHint({ collection, stream, keys }: RedisFlags): string {
  const database = 'the database at the end of the URL'
  if (collection !== undefined)
    return `nothing is in the collection "${collection}" yet: check its name and ${database}; a redisWriter makes it`
  return stream === undefined
    ? `no string has a key like "${keys}" yet: check what the keys begin with and ${database}`
    : `nothing is in the stream "${stream}" yet: check its name and ${database}`
}

/** What the adapter says of its options, in words of the command line. */
function adviceOf(message: string): string {
  return message
    .replace(
      "check the client's username and password",
      'give user and password in the URL: redis://user:password@host:6379',
    )
    .replace("check the client's option tls", 'rediss:// speaks TLS, redis:// does not')
    .replace("check the client's option db", 'the number at the end of the URL is the database')
    .replace('a Cluster finds it, a Redis does not', 'with --cluster it is found')
    .replace(/give (the client )?the address of the master, or of the Sentinels/, 'give the address of the master')
    .replace(
      "give a snapshot, or whenTrimmed: 'fold' where the newest entry of each key always stays",
      'say --fold to mirror what is left',
    )
    .replace('raise maxKeys', 'the command line mirrors fewer')
}
