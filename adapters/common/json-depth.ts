import { messageOf } from '../../src/contract/errors.js'
/** Deeper JSON is refused: parsing it would work, and everything afterwards would overflow the stack. */
export const MAX_JSON_DEPTH = 128

/** `JSON.parse`, with an error that quotes nothing of the text: that may be secret. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const message = messageOf(error)
    // V8 quotes the text in this message; its other messages name a position only.
    throw new SyntaxError(message.endsWith('is not valid JSON') ? 'it is not valid JSON' : message)
  }
}

/** Throws if a text nests deeper than `max`. It need not be valid JSON, and each character is read once at most. */
export function assertJsonDepth(text: string, max: number = MAX_JSON_DEPTH): void {
  if (text.length <= 2 * max || !opensMoreThan(max, text)) return
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22: // A string: nothing in it counts.
        for (i++; i < text.length && text.charCodeAt(i) !== 0x22; i++) if (text.charCodeAt(i) === 0x5c) i++
        break
      case 0x5b:
      case 0x7b:
        if (++depth > max) throw new RangeError(`JSON nested deeper than ${max} levels`)
        break
      case 0x5d:
      case 0x7d:
        depth--
        break
      default:
    }
  }
}

/** Whether the text has more than `max` opening brackets. Most texts have few, and counting them is much faster. */
function opensMoreThan(max: number, text: string): boolean {
  let count = 0
  for (const bracket of '[{') {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) if (++count > max) return true
  }
  return false
}
