import { etcdSource } from '../../adapters/etcd/index.js'
import { decodedPart, shownAddress, throwInvalidUrl } from '../args/server-url.js'
import { CliError, loadPackage } from '../output/cli-error.js'
import type { OpenSource, Row } from './source-types.js'

/** The options of etcd. */
export interface EtcdFlags {
  readonly prefix: string
  readonly codec?: 'json' | 'string' | 'bytes'
}

/** Opens a range of keys of etcd. */
export async function openEtcd(url: string, flags: EtcdFlags): Promise<OpenSource> {
  const { endpoints, auth, shown } = addressOf(url)
  await loadPackage('@grpc/grpc-js', () => import('@grpc/grpc-js'), 'npm i @grpc/grpc-js')
  const { prefix, codec = 'json' } = flags
  const source = etcdSource<Row>({ endpoints, prefix, codec, ...(auth === undefined ? {} : { auth }) })
  return {
    source,
    kind: 'etcd',
    of: prefix,
    toCliError: ({ code, message }) =>
      new CliError(`${code === 'UNAVAILABLE' ? `cannot connect to ${shown}: ` : ''}${adviceOf(message, prefix)}`),
    message: (text) => adviceOf(text, prefix),
    ifEmpty: `no key begins with "${prefix}" yet: check --prefix, which must match from the first character`,
    close: () => {},
  }
}

/** `etcd://user:password@host:2379,host2:2379` */
export function addressOf(url: string): {
  readonly endpoints: readonly string[]
  readonly auth: { readonly username: string; readonly password: string } | undefined
  /** The address for messages. */
  readonly shown: string
} {
  const match = /^(etcds?):\/\/(?:([^:@/?#]+):([^@/?#]*)@)?([^@/?#]+)\/?$/.exec(url)
  if (match === null) return throwInvalidUrl('etcd', 'etcd://host:2379')
  const [, scheme = '', username, password = '', hosts = ''] = match
  const lead = scheme === 'etcds' ? 'https://' : 'http://'
  return {
    endpoints: hosts.split(',').map((host) => `${lead}${/:\d+$/.test(host) ? host : `${host}:2379`}`),
    auth: username === undefined ? undefined : { username: decodedPart(username), password: decodedPart(password) },
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
