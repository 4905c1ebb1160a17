/** The metadata of an object, as far as it could be read. */
export interface ScannedMetadata {
  readonly type?: string
  readonly name?: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
}

const WANTED = new Set(['name', 'namespace', 'uid', 'resourceVersion'])

/**
 * Reads the metadata of an object that cannot be parsed or is incomplete. In a watch the object is inside of an event.
 */
export function scanMetadata(bytes: Buffer | string, isInEvent: boolean): ScannedMetadata {
  const text = bytes.toString()
  const top = isInEvent ? 2 : 1
  const found: Record<string, string> = {}
  const names: string[] = []
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '{':
      case '[':
        names[++depth] = ''
        break
      case '}':
      case ']':
        depth--
        break
      case '"': {
        const end = endOfString(text, at + 1)
        if (end === -1) return found
        const word = text.slice(at + 1, end)
        at = end
        const isName = text[end + 1] === ':'
        if (isName) names[depth] = word
        else if (depth === 1 && isInEvent && names[1] === 'type') found['type'] = word
        else if (depth === top + 1 && names[top] === 'metadata' && (!isInEvent || names[1] === 'object')) {
          const name = names[depth] ?? ''
          if (WANTED.has(name)) found[name] ??= word
        }
        break
      }
      default:
    }
  }
  return found
}

function endOfString(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at
  }
  return -1
}
