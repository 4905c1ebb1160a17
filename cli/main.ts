import { readFileSync } from 'node:fs'
import { SourceError } from '../src/contract/errors.js'
import { fieldOf } from './args/fields.js'
import { withPlainScheme } from './args/server-url.js'
import { sourceKindOf } from './args/source-kinds.js'
import { Command, CommanderError } from './bundled.js'
import { defineCommands } from './commands/define-commands.js'
import { CliError } from './output/cli-error.js'
import { oneLine } from './output/error-hints.js'
import { wrapParts } from './output/status-view.js'
import { widthOf } from './output/text-width.js'
import { useNamedSource } from './sources/config-file.js'

/** Prints an error as one line. The exit code is 2 for errors that the user can fix, else 1. */
function fail(error: unknown): void {
  const isExpected = error instanceof CliError || error instanceof SourceError || error instanceof TypeError
  process.stderr.write(`listwatch: ${oneLine(error)}\n`)
  if (!isExpected && process.env['LISTWATCH_DEBUG'] !== undefined) console.error(error)
  process.exitCode = error instanceof CliError ? error.exitCode : isExpected ? 2 : 1
}

/** An option as a value is an error, an unknown option is reported before a missing one, and errors name the help. */
function configureErrors(command: Command, path: string): void {
  for (const option of command.options.filter(({ required }) => required)) {
    const { parseArg } = option
    option.argParser((value: string, before: unknown) => {
      const [flag] = value.split('=', 1)
      if (flag === '--help' || command.options.some((other) => flag === other.long || value === other.short))
        command.error(`error: ${option.long} needs a value, got the option ${flag}`)
      return parseArg === undefined ? value : parseArg(value, before)
    })
  }
  const required = command.options.filter(({ mandatory }) => mandatory)
  // Commander looks for required options first: a mistyped name would be reported as a missing option.
  for (const option of required) option.makeOptionMandatory(false)
  command.hook('preAction', (_, action) => {
    const missing = required.find((option) => action.getOptionValue(option.attributeName()) === undefined)
    if (missing !== undefined) action.error(`error: required option '${missing.flags}' not specified`)
  })
  command.configureOutput({
    writeOut: (text) => process.stdout.write(wrappedHelp(text, process.stdout.columns || Number.POSITIVE_INFINITY)),
    outputError: (text, write) => {
      const line = oneLine(text.replace(/^error: /, '')).replace(/\.$/, '')
      write(`listwatch: ${line}; see: listwatch${path} --help\n`)
    },
  })
  for (const each of command.commands) configureErrors(each, `${path} ${each.name()}`)
}

/** Throws for a URL that names no kind of source, before a missing option is reported. */
function checkSourceUrl(command: Command): void {
  const [url] = command.processedArgs
  const hasSource = command.options.some(({ long }) => long === '--config')
  if (hasSource && typeof url === 'string') sourceKindOf(withPlainScheme(url), {})
}

/** Reports that the disk is full, for example, but not that the reader has closed the output. */
function outputFailed(error: Error & { readonly code?: string }): void {
  if (error.code !== 'EPIPE') fail(new Error(`cannot write the output: ${error.message}`))
}

async function main(): Promise<void> {
  // The running command then ends by itself: see shutdown-signal.ts.
  process.stdout.on('error', outputFailed)
  // A command continues without its messages: a mirror or a relay does not need their reader.
  process.stderr.on('error', () => {})
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const program = new Command('listwatch')
    .description('Mirrors a versioned collection into an indexed local store, and prints its changes.')
    .version(String(fieldOf(manifest, 'version')))
    .exitOverride()
  defineCommands(program)
  configureErrors(program, '')
  program.hook('preAction', async (_, command) => {
    await useNamedSource(command)
    checkSourceUrl(command)
  })
  try {
    await program.parseAsync()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    process.exitCode = error.exitCode === 0 ? 0 : 2
  }
}

/** The examples of a help: commands, which stay whole so that they can be copied. */
const EXAMPLES = '\nExamples:\n'
const ITEM = /^( {2}\S.*?) {2,}(\S.*)$/
const DESCRIPTION_INDENT = '      '

/** Wraps a help between words at the width of the terminal. A description that does not fit is below its option. */
function wrappedHelp(text: string, columns: number): string {
  const [help = '', ...examples] = text.split(EXAMPLES)
  const lines = help.split('\n').flatMap((line) => {
    if (widthOf(line) <= columns) return [line]
    const [, item, description = ''] = ITEM.exec(line) ?? []
    return item === undefined
      ? wrapped(line, '', columns)
      : [item, ...wrapped(description, DESCRIPTION_INDENT, columns)]
  })
  return [lines.join('\n'), ...examples].join(EXAMPLES)
}

function wrapped(text: string, indent: string, columns: number): string[] {
  return wrapParts(text.trim().split(/ +/), columns - indent.length, ' ').map((line) => indent + line)
}

main().catch(fail)
