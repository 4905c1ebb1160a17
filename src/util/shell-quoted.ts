/** One word for a POSIX shell, in single quotes. */
export function shellQuoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
