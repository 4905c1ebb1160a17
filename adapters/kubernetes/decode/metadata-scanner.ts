export interface ScannedMetadata {
  readonly type?: string
  readonly name?: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
}

const WANTED = new Set(['name', 'namespace', 'uid', 'resourceVersion'])

/** Reads the metadata of an object that cannot be parsed. In a watch the object is inside of an event. */
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
        const raw = text.slice(at + 1, end)
        at = end
        const name = names[depth] ?? ''
        if (isBeforeColon(text, end + 1)) names[depth] = decoded(raw) ?? ''
        else if (depth === 1 && isInEvent && name === 'type') found['type'] = raw
        else if (depth === top + 1 && names[top] === 'metadata' && (!isInEvent || names[1] === 'object')) {
          const word = WANTED.has(name) ? decoded(raw) : undefined
          if (word !== undefined) found[name] ??= word
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

/** Whether the next character that is not white space is a colon: then a name is before it. */
function isBeforeColon(text: string, from: number): boolean {
  let at = from
  while (' \t\r\n'.includes(text[at] ?? ':')) at++
  return text[at] === ':'
}

/** Servers escape `&`, `<` and `>`, which names of RBAC may have. Undefined if the escapes are invalid. */
function decoded(raw: string): string | undefined {
  if (!raw.includes('\\')) return raw
  try {
    return String(JSON.parse(`"${raw}"`))
  } catch {
    return undefined
  }
}
