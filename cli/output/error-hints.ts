import { codeOf, postgresError } from '../../adapters/postgres/internal.js'
import { messageOf } from '../../src/contract/errors.js'
import { redact } from '../../src/util/redact.js'
import { shellQuoted } from '../../src/util/shell-quoted.js'
import { shownAddress } from '../args/server-url.js'
import { CliError } from './cli-error.js'

/** The server and table of a command, so that a message can name the command that fixes an error. */
export interface CommandTarget {
  readonly url: string
  readonly table?: string | undefined
}

/** The name by which the user calls the command line. */
export const PROGRAM: string = process.env['npm_command'] === 'exec' ? 'npx listwatch' : 'listwatch'

/** Converts an error of Postgres to one line: the problem, and the command or option that fixes it. */
export function cliErrorOf(thrown: unknown, target: CommandTarget): CliError {
  const error = postgresError(thrown)
  const code = codeOf(error.cause)
  const message = error.message.replace("set rls: 'row-local'", 'add --rls row-local')
  const isUnreached =
    code === undefined ? /SASL|client password|SSL connections/.test(message) : /^(E[A-Z]+|28...|3D000)$/.test(code)
  const lead = isUnreached ? `cannot connect to ${serverOf(target.url)}: ` : ''
  return new CliError(lead + withCommands(message + hintFor(code, message), target))
}

const NAMING = '; name the table as in SQL, such as orders, shop.orders or "Orders"'

function hintFor(code: string | undefined, message: string): string {
  switch (code) {
    case '28000': // invalid authorization
    case '28P01': // wrong password
      return '; give the right user and password in the URL, or in PGUSER and PGPASSWORD'
    case '3D000': // no such database
      return '; name another at the end of the URL, or create it with: createdb'
    case '3F000': // no such schema
      return /schema "listwatch"/.test(message)
        ? ': nothing is installed in this database; run: listwatch pg install <url> --table <table>'
        : NAMING
    case '42602': // no name
    case '42P01': // no such table
      return NAMING
    case '42704': // no such role, among others
      return /^role /.test(message) ? '; create it with CREATE ROLE, or name another with --grant' : ''
    default:
      return /relation name|cross-database/.test(message) ? NAMING : ''
  }
}

/** Fills the known values into the commands that a message names, without passwords: a command must run as it stands. */
export function withCommands(message: string, { url, table }: CommandTarget): string {
  const isForOwner = message.includes('as the owner')
  const role = URL.canParse(url) ? decodeURIComponent(new URL(url).username) : ''
  // Functions, because a `$` in a replacement has a meaning.
  return message
    .replaceAll(/(?:npx )?listwatch pg /g, `${PROGRAM} pg `)
    .replaceAll('<url>', () => quoted(isForOwner ? ownersUrl(url) : urlWithoutSecrets(url)))
    .replaceAll('<table>', () => (table === undefined ? '<table>' : quoted(table)))
    .replaceAll('<role>', () => (role === '' ? '<role>' : quoted(role)))
}

/** The server and the database, without parameters: any of them may be a secret. */
export function serverOf(url: string): string {
  const { protocol, username, password, host, pathname } = new URL(url)
  return shownAddress(protocol.slice(0, -1), username, password, host + pathname)
}

/** A URL with the user `owner`, because the real owner is unknown. */
function ownersUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//owner@${host}${pathname}`
}

/** The URL without its password, and without the parameters that `redact` would change. */
function urlWithoutSecrets(given: string): string {
  const url = new URL(given)
  url.password = ''
  for (const [name, value] of [...url.searchParams]) {
    const parameter = `${name}=${value}`
    if (redact(parameter) !== parameter) url.searchParams.delete(name)
  }
  return redact(url.href)
}

function quoted(word: string): string {
  return /^[\w.:/@%*+=,-]+$/.test(word) ? word : shellQuoted(word)
}

/** The longest line, in characters: a server may send a message of any length. */
const MAX_LINE_LENGTH = 2_000

/** Converts a thrown value to one short line without control characters and secrets. */
export function oneLine(thrown: unknown): string {
  const line = redact(messageOf(thrown))
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
  return line.length <= MAX_LINE_LENGTH ? line : `${line.slice(0, MAX_LINE_LENGTH)}…`
}
