import { serveInspector } from '../../inspector/index.js'
import { messageOf } from '../../src/contract/errors.js'
import { createInformer } from '../../src/informer/create-informer.js'
import { fieldOf } from '../args/fields.js'
import { type Command, colors } from '../bundled.js'
import { CliError } from '../output/cli-error.js'
import { awaitFirstList, reportErrors } from '../output/first-list.js'
import { listenToKeys, sleepUnlessAborted } from '../output/terminal-ui.js'
import { shutDownAfter, shutdownSignal } from '../shutdown-signal.js'
import { type NamedSource, readConfig } from '../sources/config-file.js'
import { openSources, type SourceFlags } from '../sources/open-source.js'
import type { OpenSource } from '../sources/source-types.js'
import { durationOf, indexesOf } from './watch.js'

export interface ServeFlags {
  readonly index: readonly string[]
  readonly port?: number
  readonly showSecrets?: boolean
  readonly for?: string
  readonly config?: string
}

/** Options of the command itself. All others belong to a source. */
const OWN_OPTIONS = ['port', 'showSecrets', 'for', 'config']

/** Mirrors a source, or all of a configuration file, and serves the page of the inspector until it is interrupted. */
export async function serve(url: string | undefined, flags: ServeFlags & SourceFlags, command: Command): Promise<void> {
  const forMs = durationOf(flags) // It is checked before anything is opened.
  const sources = url === undefined ? await allSources(command) : [{ name: undefined, url, flags }]
  using shutdown = shutdownSignal()
  const mirrors: Mirror[] = []
  try {
    for (const source of sources) mirrors.push(...(await mirrorsOf(source, command)))
    const { port, showSecrets } = flags
    const informers = mirrors.map(({ rows }) => rows)
    await using inspector = await serveInspector(informers, { port, showSecrets }).catch((error: unknown) => {
      const isInUse = fieldOf(error, 'code') === 'EADDRINUSE'
      const reason = isInUse ? `the port ${port} is in use; use another --port, or 0 for a free one` : messageOf(error)
      throw new CliError(`cannot serve the page: ${reason}`)
    })
    process.stdout.write(`${inspector.url}\n`)
    using _pressed = listenToKeys(new Map([['q', () => shutdown.abort()]]))
    if (process.stdin.isTTY && process.stdout.isTTY) process.stdout.write(`${colors.dim('[q] quit')}\n`)
    await Promise.all(
      mirrors.map(({ name, rows, open }) => {
        reportErrors(rows, open, false)
        return named(name, awaitFirstList(rows, open, shutdown.signal))
      }),
    )
    shutDownAfter(forMs, shutdown)
    await sleepUnlessAborted(Number.MAX_SAFE_INTEGER, shutdown.signal)
  } finally {
    await Promise.all(mirrors.map(({ rows }) => rows.stop()))
    for (const { open } of mirrors) open[Symbol.dispose]()
  }
}

type Mirror = Awaited<ReturnType<typeof mirrorsOf>>[number]

async function mirrorsOf(
  { name, url, flags }: Pick<NamedSource, 'url' | 'flags'> & { readonly name: string | undefined },
  command: Command,
) {
  const opened: readonly OpenSource[] = await named(name, openSources(url, flags, command))
  return opened.map((open) => {
    const shown = opened.length > 1 ? undefined : name
    const indexes = indexesOf(flags.index)
    return { name, open, rows: createInformer({ name: shown ?? open.source.name, source: open.source, indexes }) }
  })
}

async function named<V>(name: string | undefined, work: Promise<V>): Promise<V> {
  try {
    return await work
  } catch (error) {
    if (name === undefined || !(error instanceof CliError)) throw error
    throw new CliError(`source "${name}": ${error.message}`, error.exitCode)
  }
}

/** The sources of the configuration file. Throws for options of a single source. */
async function allSources(command: Command): Promise<readonly NamedSource[]> {
  const stray = command.options.find((option) => {
    const name = option.attributeName()
    return command.getOptionValueSource(name) === 'cli' && !OWN_OPTIONS.includes(name)
  })
  if (stray !== undefined)
    throw new CliError(
      `${stray.long} needs the URL of a source; without one, all sources of the configuration file are served`,
    )
  return readConfig(command.opts()['config'])
}
