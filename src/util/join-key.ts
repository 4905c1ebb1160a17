/**
 * The parts of a composite key as one key: joined by "/", with "/" and "\" inside a part escaped by "\". No two lists
 * of parts give the same key. A single part stays as it is.
 */
export function joinKey(parts: readonly string[]): string {
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return only
  return parts.map((part) => part.replace(/[\\/]/g, '\\$&')).join('/')
}

/** Returns the parts of a key that `joinKey` has made of two parts or more. */
export function splitKey(key: string): string[] {
  const parts = ['']
  // "\" and the character after it, "/", or a run of other characters.
  for (const [token] of key.matchAll(/\\.|\/|[^\\/]+/gs)) {
    if (token === '/') parts.push('')
    else parts[parts.length - 1] += token.startsWith('\\') ? token.slice(1) : token
  }
  return parts
}
