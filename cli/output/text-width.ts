/** Characters that take no column: combining marks, and formatting such as joiners. */
const ZERO = /\p{M}|\p{Cf}/u
/** Characters that take two columns: East Asian ones, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u

/** A colour, as picocolors writes it, or one character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with one.
const TOKEN = /\x1b\[[\d;]*m|./gsu

/** The number of terminal columns that a text takes. Colours take none. */
export function widthOf(text: string): number {
  let width = 0
  for (const [token] of text.matchAll(TOKEN)) width += columnsOf(token)
  return width
}

/** The text, cut to this many columns including an ellipsis. Colours that begin in it also end in it. */
export function fitted(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  let [shown, width, isCut] = ['', 0, false]
  for (const [token] of text.matchAll(TOKEN)) {
    const more = columnsOf(token)
    if (!isCut && width + more > columns - 1) {
      shown += columns > 0 ? '…' : ''
      isCut = true
    }
    // After the cut only colours are kept: they end what began before it.
    if (!isCut || (more === 0 && token.length > 1)) shown += token
    width += more
  }
  return shown
}

function columnsOf(token: string): number {
  if (token.length > 1 && token.startsWith('\x1b')) return 0
  if (/^[\x20-\x7e]$/.test(token)) return 1
  if (ZERO.test(token)) return 0
  return WIDE.test(token) ? 2 : 1
}
