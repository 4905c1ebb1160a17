import { CliError } from '../output/cli-error.js'

export type SourceKind = 'postgres' | 'etcd' | 'redis' | 'kubernetes'

interface KindDescription {
  readonly name: string
  readonly scheme: RegExp
  /** What a mirror of it holds. */
  readonly things: string
  /** The options that say something of this kind of server, by the names that the command line gives them. */
  readonly options: readonly string[]
}

const KINDS: Readonly<Record<SourceKind, KindDescription>> = {
  etcd: { name: 'etcd', scheme: /^etcds?:/, things: 'keys', options: ['prefix', 'codec'] },
  redis: {
    name: 'Redis',
    scheme: /^rediss?:/,
    things: 'keys',
    options: ['collection', 'stream', 'key', 'fold', 'keys', 'cluster', 'codec'],
  },
  kubernetes: {
    name: 'Kubernetes',
    scheme: /^kubernetes:/,
    things: 'objects',
    options: ['selector', 'fieldSelector', 'context', 'metadataOnly'],
  },
  postgres: {
    name: 'Postgres',
    scheme: /^postgres(ql)?:/,
    things: 'rows',
    options: ['table', 'columns', 'where', 'rls'],
  },
}

const names = Object.keys(KINDS) as SourceKind[]

const SCHEMES =
  'postgres://user@host:5432/database, etcd://host:2379 (etcds://), redis://host:6379 (rediss://) or kubernetes://namespace/resource'

/** The kind of server that a URL is of; refuses options that are of another. Of an unknown one nothing but the scheme is repeated. */
export function sourceKindOf(url: string, given: Readonly<Record<string, unknown>>): SourceKind {
  const [scheme] = /^[a-z][a-z0-9+.-]*:(?=\/\/)/i.exec(url) ?? []
  if (scheme === undefined) throw new CliError(`what was given has no scheme; use ${SCHEMES}`)
  const kind = names.find((name) => KINDS[name].scheme.test(scheme))
  if (kind === undefined) throw new CliError(`unknown scheme "${scheme}"; use ${SCHEMES}`)
  const own = KINDS[kind]
  for (const option of Object.keys(given)) {
    if (given[option] === undefined || own.options.includes(option)) continue
    const owners = names.filter((name) => KINDS[name].options.includes(option)).map((name) => KINDS[name].name)
    if (owners.length === 0) continue // Of all.
    throw new CliError(
      `${flag(option)} is of ${owners.join(' and ')}; ${own.name} has ${own.options.map(flag).join(', ')}`,
    )
  }
  return kind
}

/** What a mirror of such a server holds, in the plural. */
export function objectNoun(kind: SourceKind): string {
  return KINDS[kind].things
}

function flag(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
