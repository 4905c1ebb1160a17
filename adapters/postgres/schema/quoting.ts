/** The largest number of milliseconds of a setting, and the largest argument of a function. */
export const MAX_INT4: number = 2 ** 31 - 1

export function quoteIdentifier(name: string): string {
  if (name === '' || name.includes('\0')) throw new TypeError(`"${name}" is not a valid name in Postgres`)
  return `"${name.replaceAll('"', '""')}"`
}

/** Quotes a text. The result does not depend on standard_conforming_strings. */
export function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted
}
