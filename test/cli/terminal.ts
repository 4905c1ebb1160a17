/** What of a terminal the command line makes use of: enough to see what a person sees. */
export class Terminal {
  readonly columns: number
  isCursorVisible = true
  /** Whether text that reaches the right margin continues in the next line. */
  hasMargins = true
  /** How often text ran over the right margin into the next line. */
  wraps = 0
  /** Every state of the screen that a person could see: the states within a synchronized update do not count. */
  readonly frames: string[] = []
  readonly unknown: string[] = []
  #lines: string[] = ['']
  #row = 0
  #column = 0
  #isUpdating = false

  constructor(columns: number) {
    this.columns = columns
  }

  /** What is on it, without what is blank at the end. */
  get text(): string {
    return this.#lines
      .map((line) => line.trimEnd())
      .join('\n')
      .trimEnd()
  }

  write(output: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal receives such characters.
    for (const [token] of output.matchAll(/\x1b\[[?\d;]*[A-Za-z]|[^\x1b]/gu)) {
      if (token.length > 1 && token.startsWith('\x1b')) this.#obey(token.slice(2))
      else if (token === '\r') this.#column = 0
      else if (token === '\n') this.#down()
      else this.#put(token)
      if (!this.#isUpdating && this.frames.at(-1) !== this.text) this.frames.push(this.text)
    }
  }

  #obey(command: string): void {
    const count = Number(/^\d+/.exec(command)?.[0] ?? 1)
    if (command.endsWith('m')) return
    if (command === '?25l' || command === '?25h') this.isCursorVisible = command === '?25h'
    else if (command === '?7l' || command === '?7h') this.hasMargins = command === '?7h'
    else if (command === '?2026h' || command === '?2026l') this.#isUpdating = command === '?2026h'
    else if (command.endsWith('A')) this.#row = Math.max(0, this.#row - count)
    else if (command === '2K') this.#lines[this.#row] = ''
    else if (command === 'J') {
      this.#lines.length = this.#row + 1
      this.#lines[this.#row] = (this.#lines[this.#row] ?? '').slice(0, this.#column)
    } else this.unknown.push(command)
  }

  #down(): void {
    this.#row++
    this.#lines[this.#row] ??= ''
  }

  #put(character: string): void {
    if (this.#column >= this.columns) {
      if (this.hasMargins) {
        this.wraps++
        this.#column = 0
        this.#down()
      } else this.#column = this.columns - 1
    }
    const line = (this.#lines[this.#row] ?? '').padEnd(this.#column)
    this.#lines[this.#row] = line.slice(0, this.#column) + character + line.slice(this.#column + 1)
    this.#column++
  }
}
