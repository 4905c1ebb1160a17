/**
 * The parts of a composite key as one key: joined by "/", with "/" and "\" inside a part escaped by "\". No two lists
 * of parts give the same key. A single part stays as it is.
 */
export function joinKey(parts: readonly string[]): string {
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return only
  return parts.map((part) => part.replace(/[\\/]/g, '\\$&')).join('/')
}
