import { widthOf } from './text-width.js'

/** The examples of a help: commands, which stay whole so that they can be copied. */
const EXAMPLES = '\nExamples:\n'
/** An option or a command with its description. */
const ITEM = /^( {2}\S.*?) {2,}(\S.*)$/
const DESCRIPTION_INDENT = '      '

/** Wraps a help between words at the width of the terminal. A description that does not fit is below its option. */
export function wrappedHelp(text: string, columns: number): string {
  const [help = '', ...examples] = text.split(EXAMPLES)
  const lines = help.split('\n').flatMap((line) => {
    if (widthOf(line) <= columns) return [line]
    const [, item, description = ''] = ITEM.exec(line) ?? []
    return item === undefined
      ? wrapped(line, '', columns)
      : [item, ...wrapped(description, DESCRIPTION_INDENT, columns)]
  })
  return [lines.join('\n'), ...examples].join(EXAMPLES)
}

/** Only a word that is longer than a line is left as it is. */
function wrapped(text: string, indent: string, columns: number): string[] {
  const lines: string[] = []
  for (const word of text.trim().split(/ +/)) {
    const longer = `${lines.at(-1)} ${word}`
    if (lines.length === 0 || widthOf(longer) > columns) lines.push(indent + word)
    else lines.splice(-1, 1, longer)
  }
  return lines
}
