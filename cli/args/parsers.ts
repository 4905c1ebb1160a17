import { InvalidArgumentError } from '../bundled.js'
import { CliError } from '../output/cli-error.js'

/** A text that is not empty. */
export function name(value: string): string {
  if (value === '') throw new InvalidArgumentError('It must not be empty.')
  return value
}

export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), name(value)]
}

export const TOGETHER = 'several tables of Postgres, MariaDB or MySQL (--table), or several prefixes of etcd (--prefix)'

/** A text that is not empty, of an option that may not be repeated: a second value would replace the first one. */
export function once(value: string, before: string | undefined): string {
  if (before !== undefined)
    throw new InvalidArgumentError(`It may be given once: watch and serve mirror together ${TOGETHER}.`)
  return name(value)
}

/** The value of an option that only `watch` and `serve` take more than once. */
export function onlyOne(option: '--table' | '--prefix', values: readonly string[] = []): string | undefined {
  if (values.length > 1) throw new CliError(`give one ${option}: only watch and serve mirror together ${TOGETHER}`)
  return values[0]
}

export function list(value: string): readonly string[] {
  return value.split(',').map((each) => name(each.trim()))
}

/** Returns a parser of whole numbers in this range. */
export function wholeNumber(from: number, to?: number): (value: string) => number {
  return (value) => {
    const number = value.trim() === '' ? Number.NaN : Number(value)
    if (Number.isSafeInteger(number) && number >= from && number <= (to ?? number)) return number
    throw new InvalidArgumentError(`It must be a whole number from ${from}${to === undefined ? '' : ` to ${to}`}.`)
  }
}

export const count: (value: string) => number = wholeNumber(1)

export interface Condition {
  readonly field: string
  readonly isNegated: boolean
  readonly value: string
}

/** `field=value` and `field!=value`; the option may be repeated. */
export function conditions(text: string, before: readonly Condition[] | undefined): readonly Condition[] {
  const [, field, negation, value] = /^([^=!]+)(!?)=(.*)$/s.exec(text) ?? []
  if (field === undefined || value === undefined)
    throw new InvalidArgumentError('It must look like status=open or status!=open.')
  if (/[\s<>]$/.test(field) || /^'.*'$/s.test(value))
    throw new InvalidArgumentError('It is not SQL: it must look like status=open. A condition in SQL is --sql.')
  return [...(before ?? []), { field, isNegated: negation === '!', value }]
}

export function oneOrAll(flags: {
  readonly table?: string | undefined
  readonly all?: boolean | undefined
}): { readonly table: string } | { readonly all: true } {
  const { table, all } = flags
  if ((table === undefined) === (all !== true))
    throw new CliError('name a table with --table, or everything with --all')
  return table === undefined ? { all: true } : { table }
}
