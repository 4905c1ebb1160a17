export function quotedName(...names: readonly string[]): string {
  return names.map((name) => `\`${name.replaceAll('`', '``')}\``).join('.')
}

/** A text as a literal that needs no escaping, in any mode and any character set of the connection. */
export function text(value: string): string {
  return value === '' ? `''` : `_utf8mb4 x'${Buffer.from(value).toString('hex')}'`
}
