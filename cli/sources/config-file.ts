import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf } from '../../src/contract/errors.js'
import { fieldOf } from '../args/fields.js'
import { collect } from '../args/parsers.js'
import { withPlainScheme } from '../args/server-url.js'
import { sourceKindOf } from '../args/source-kinds.js'
import { addSourceOptions } from '../args/source-options.js'
import { Command, CommanderError } from '../bundled.js'
import { CliError } from '../output/cli-error.js'
import { oneLine } from '../output/error-hints.js'
import type { SourceFlags } from './open-source.js'

export interface NamedSource {
  readonly name: string
  readonly url: string
  readonly flags: SourceFlags & { readonly index: readonly string[] }
}

const NAMES = ['listwatch.config.ts', 'listwatch.config.js', 'listwatch.config.json']
const FORM =
  'it must have the form { "sources": { "orders": { "url": "postgres://user@host/db", "table": "orders" } } }'

export async function readConfig(given: string | undefined): Promise<readonly NamedSource[]> {
  const path = given ?? NAMES.find((name) => existsSync(name))
  if (path === undefined)
    throw new CliError(
      `no ${NAMES.slice(0, -1).join(', ')} or ${NAMES.at(-1)} is in this folder: pass the URL of a source, or name a file with --config`,
    )
  if (!existsSync(path)) throw new CliError(`--config: there is no file ${path}`)
  const file = basename(path)
  const sources = fieldOf(await (path.endsWith('.json') ? parsed(path) : imported(path)), 'sources')
  if (!isObject(sources) || Object.keys(sources).length === 0) throw new CliError(`${file}: ${FORM}`)
  return Object.entries(sources).map(([name, entry]) => {
    try {
      return { name, ...sourceOf(entry) }
    } catch (error) {
      if (!(error instanceof CliError || error instanceof CommanderError)) throw error
      throw new CliError(`${file}: source "${name}": ${error.message.replace(/^error: /, '')}`)
    }
  })
}

/** Replaces `@orders` by the source of this name, with its options. Options of the command line take precedence. */
export async function useNamedSource(command: Command): Promise<void> {
  const [first] = command.processedArgs
  if (typeof first !== 'string' || !first.startsWith('@')) return
  const sources = await readConfig(command.opts()['config'])
  const found = sources.find(({ name }) => name === first.slice(1))
  if (found === undefined)
    throw new CliError(
      `there is no source "${first.slice(1)}"; there are ${sources.map(({ name }) => name).join(', ')}`,
    )
  command.processedArgs[0] = found.url
  for (const [name, value] of Object.entries(found.flags)) {
    const isGiven = command.getOptionValueSource(name) === 'cli'
    const isKnown = command.options.some((option) => option.attributeName() === name)
    if (isKnown && !isGiven) command.setOptionValueWithSource(name, value, 'config')
  }
}

async function parsed(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    // The message quotes the file, which may have passwords.
    const [place = ''] = /\(?line \d+ column \d+\)?/.exec(messageOf(error)) ?? []
    throw new CliError(`${basename(path)} is not valid JSON ${place}`.trim())
  }
}

async function imported(path: string): Promise<unknown> {
  try {
    return fieldOf(await import(pathToFileURL(resolve(path)).href), 'default')
  } catch (error) {
    const hint = fieldOf(error, 'code') === 'ERR_UNKNOWN_FILE_EXTENSION' ? '; TypeScript needs Node 22.18 or later' : ''
    throw new CliError(`${basename(path)} cannot be loaded: ${oneLine(error)}${hint}`)
  }
}

/** The URL and the flags of an entry, checked like a command line. */
function sourceOf(entry: unknown): Omit<NamedSource, 'name'> {
  if (!isObject(entry) || typeof entry['url'] !== 'string') throw new CliError('it needs a "url"')
  const { url, ...options } = entry
  const parser = addSourceOptions(new Command()).option('--index <column>', '', collect, [])
  parser.exitOverride().configureOutput({ writeErr: () => {} })
  const args = Object.entries(options).flatMap(([name, value]) => argumentsOf(parser, name, value))
  parser.parse([url, ...args], { from: 'user' })
  sourceKindOf(withPlainScheme(url), parser.opts())
  return { url, flags: parser.opts() }
}

function argumentsOf({ options }: Command, name: string, value: unknown): readonly string[] {
  const known = options.filter(({ long }) => long !== '--config')
  const option = known.find((each) => each.attributeName() === name)
  if (option?.long === undefined || option.long === null)
    throw new CliError(
      `there is no option "${name}"; there are url, ${known.map((each) => each.attributeName()).join(', ')}`,
    )
  const { long, required } = option
  if (!required && typeof value === 'boolean') return value ? [long] : []
  const texts: unknown[] = [value].flat()
  if (!required || !texts.every((each) => typeof each === 'string'))
    throw new CliError(`"${name}" must be ${required ? 'a text, or an array of texts' : 'true or false'}`)
  return option.parseArg === collect ? texts.map((each) => `${long}=${each}`) : [`${long}=${texts.join(',')}`]
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
