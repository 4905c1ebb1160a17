import { type EtcdCluster, etcdCluster, etcdSource } from '../../adapters/etcd/index.js'
import { decodedPart, shownAddress, throwInvalidUrl } from '../args/server-url.js'
import { CliError, loadPackage } from '../output/cli-error.js'
import type { OpenSource, PrefixFlags, Row, SourceOptions } from './source-types.js'

export async function openPrefixes(
  url: string,
  prefixes: readonly string[],
  flags: SourceOptions,
): Promise<readonly OpenSource[]> {
  await loadGrpc()
  const { shown: _, ...servers } = addressOf(url)
  const cluster = etcdCluster(servers)
  return await Promise.all(prefixes.map((prefix) => openEtcd(url, { ...flags, prefix }, cluster)))
}

export async function openEtcd(url: string, flags: PrefixFlags, cluster?: EtcdCluster): Promise<OpenSource> {
  const { shown, ...servers } = addressOf(url)
  await loadGrpc()
  const { prefix, codec = 'json' } = flags
  const source =
    cluster === undefined ? etcdSource<Row>({ ...servers, prefix, codec }) : cluster.collection<Row>({ prefix, codec })
  return {
    source,
    kind: 'etcd',
    of: prefix,
    toCliError: ({ code, message }) =>
      new CliError(`${code === 'UNAVAILABLE' ? `cannot connect to ${shown}: ` : ''}${adviceOf(message, prefix)}`),
    message: (text) => adviceOf(text, prefix),
    ifEmpty: `no key begins with "${prefix}" yet: check --prefix, which must match from the first character`,
    [Symbol.dispose]: () => {},
  }
}

async function loadGrpc(): Promise<void> {
  await loadPackage('@grpc/grpc-js', () => import('@grpc/grpc-js'))
}

/** `etcd://user:password@host:2379,host2:2379` */
export function addressOf(url: string): {
  readonly endpoints: readonly string[]
  readonly auth?: { readonly username: string; readonly password: string }
  readonly shown: string
} {
  const match = /^(etcds?):\/\/(?:([^:@/?#]+):([^@/?#]*)@)?([^@/?#]+)\/?$/.exec(url)
  if (match === null) return throwInvalidUrl('etcd', 'etcd://host:2379')
  const [, scheme = '', username, password = '', hosts = ''] = match
  const lead = scheme === 'etcds' ? 'https://' : 'http://'
  return {
    endpoints: hosts.split(',').map((host) => `${lead}${/:\d+$/.test(host) ? host : `${host}:2379`}`),
    ...(username !== undefined && { auth: { username: decodedPart(username), password: decodedPart(password) } }),
    shown: shownAddress(scheme, username ?? '', password, hosts),
  }
}

/** Replaces names of the adapter's options by those of the command line. */
function adviceOf(message: string, prefix: string): string {
  return message
    .replace('check auth: username, password', 'give user and password in the URL: etcd://user:password@host:2379')
    .replace(/check the scheme of the endpoints and credentials: [^)]*/, 'etcds:// speaks TLS, etcd:// does not')
    .replace('<prefix>', prefix)
}
