import { statSync } from 'node:fs'
import { CliError } from '../output/cli-error.js'

const KIND_NAMES = ['etcd', 'redis', 'nats', 'kubernetes', 'postgres', 'sqlite', 'mysql'] as const

export type SourceKind = (typeof KIND_NAMES)[number]

interface KindDescription {
  readonly name: string
  /** Undefined if a path names the source. */
  readonly scheme?: RegExp
  readonly noun: string
  readonly options: readonly string[]
}

const KINDS: Readonly<Record<SourceKind, KindDescription>> = {
  etcd: { name: 'etcd', scheme: /^etcds?:/, noun: 'keys', options: ['prefix', 'codec'] },
  redis: {
    name: 'Redis',
    scheme: /^rediss?:/,
    noun: 'keys',
    options: ['collection', 'relay', 'stream', 'key', 'fold', 'keys', 'cluster', 'codec'],
  },
  nats: { name: 'NATS', scheme: /^(nats|tls):/, noun: 'keys', options: ['bucket', 'subjects', 'relay', 'codec'] },
  kubernetes: {
    name: 'Kubernetes',
    scheme: /^kubernetes:/,
    noun: 'objects',
    options: ['selector', 'fieldSelector', 'context', 'metadataOnly'],
  },
  postgres: { name: 'Postgres', scheme: /^postgres(ql)?:/, noun: 'rows', options: ['table', 'columns', 'sql', 'rls'] },
  mysql: { name: 'MySQL', scheme: /^(?:mysql|mariadb):/, noun: 'rows', options: ['table', 'columns', 'sql'] },
  sqlite: { name: 'SQLite', noun: 'rows', options: ['table', 'columns', 'sql'] },
}

const SCHEMES =
  'postgres://user@host:5432/database, mysql://user@host:3306/database (mariadb://), etcd://host:2379 (etcds://), redis://host:6379 (rediss://), nats://host:4222 (tls://), kubernetes://namespace/resource or the path of a SQLite file, such as app.db'

/** Throws for options of another kind. The message for an unknown URL repeats only its scheme. */
export function sourceKindOf(url: string, given: Readonly<Record<string, unknown>>): SourceKind {
  const [scheme] = /^[a-z][a-z0-9+.-]*:(?=\/\/)/i.exec(url) ?? []
  if (scheme === undefined && !isSqliteFile(url)) throw new CliError(`the URL has no scheme; use ${SCHEMES}`)
  const kind = scheme === undefined ? 'sqlite' : KIND_NAMES.find((name) => KINDS[name].scheme?.test(scheme))
  if (kind === undefined) throw new CliError(`unknown scheme "${scheme}"; use ${SCHEMES}`)
  const own = KINDS[kind]
  for (const option of Object.keys(given)) {
    if (given[option] === undefined || own.options.includes(option)) continue
    const owners = KIND_NAMES.filter((name) => KINDS[name].options.includes(option)).map((name) => KINDS[name].name)
    if (owners.length === 0) continue // It applies to all kinds.
    throw new CliError(
      `${flag(option)} is an option of ${listOf(owners)}; ${own.name} has ${own.options.map(flag).join(', ')}`,
    )
  }
  return kind
}

function listOf(names: readonly string[]): string {
  return names.join(', ').replace(/, ([^,]*)$/, ' and $1')
}

function isSqliteFile(path: string): boolean {
  return /\.(?:db3?|sqlite3?)$/i.test(path) || statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

export function objectNoun(kind: SourceKind): string {
  return KINDS[kind].noun
}

/** The noun of a collection of the source: that of the option which names it. */
export function collectionNoun(kind: SourceKind): string {
  return KINDS[kind].options[0] ?? 'source'
}

function flag(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
