import { InvalidArgumentError } from '../bundled.js'

/** A text that is not empty. */
export function name(value: string): string {
  if (value === '') throw new InvalidArgumentError('It must not be empty.')
  return value
}

/** The values of an option that may be repeated. */
export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), name(value)]
}

/** Names that are separated by commas. */
export function list(value: string): readonly string[] {
  return value.split(',').map((each) => name(each.trim()))
}
