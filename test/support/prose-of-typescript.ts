/**
 * Returns the prose of a TypeScript file: its comments, and its string literals and templates of at least two words.
 * Code is left out, also in backticks and in literals that quote code. Every line keeps its number.
 */
export function proseOfTypeScript(text: string): string {
  return new Tokenizer(text).prose()
}

/** A regular expression can follow these words; after any other word `/` divides. */
const BEFORE_EXPRESSION = /\b(?:await|case|delete|do|else|in|instanceof|new|of|return|throw|typeof|void|yield)$/

/** Marks of code in a literal, such as the edits of a mutant. */
const CODE =
  /=>|===|!==|[A-Za-z)\]] = |\bthis\.#?\w|\b(?:if|for|while|switch) \(|\b(?:await|return|import|export) [\w{*#]+[.(;]|\)\s*[{;]/

class Tokenizer {
  readonly #text: string
  #at = 0
  #prose = ''
  /** The code before the current position, as far as `/` depends on it. */
  #before = ''
  /** Nothing but white space has followed the last line comment. */
  #isAfterLineComment = false

  constructor(text: string) {
    this.#text = text
  }

  prose(): string {
    while (this.#at < this.#text.length) this.#token()
    return this.#prose
  }

  #token(): void {
    const char = this.#text.charAt(this.#at)
    if (this.#startsWith('//')) this.#lineComment()
    else if (this.#startsWith('/*')) this.#blockComment()
    else if (char === "'" || char === '"') this.#string(char)
    else if (char === '`') this.#template()
    else if (char === '/' && this.#isExpressionExpected()) this.#regularExpression()
    else this.#code(char)
  }

  #startsWith(token: string): boolean {
    return this.#text.startsWith(token, this.#at)
  }

  /** Skips one character of code. */
  #code(char: string): void {
    this.#at++
    this.#prose += char === '\n' ? '\n' : ' '
    if (/\s/.test(char)) {
      if (/\w$/.test(this.#before)) this.#before += ' '
      return
    }
    this.#isAfterLineComment = false
    this.#before = `${this.#before.slice(-12)}${char}`
  }

  #lineComment(): void {
    const end = this.#indexOf('\n', this.#at)
    // The lines of one comment are one text.
    const start = this.#isAfterLineComment ? '  ' : '. '
    this.#prose += start + withoutCode(this.#text.slice(this.#at + 2, end))
    this.#at = end
    this.#isAfterLineComment = true
  }

  #blockComment(): void {
    const end = this.#indexOf('*/', this.#at + 2)
    const comment = this.#text.slice(this.#at + 2, end).replace(/^\s*\*/gm, (star) => star.replace('*', ' '))
    this.#prose += `. ${withoutCode(comment)}`
    this.#at = Math.min(end + 2, this.#text.length)
    this.#isAfterLineComment = false
  }

  #string(quote: string): void {
    const start = ++this.#at
    while (this.#at < this.#text.length && !this.#startsWith(quote) && !this.#startsWith('\n')) this.#character()
    this.#literal(this.#text.slice(start, this.#at))
    this.#at++
  }

  /** The expressions in a template are code, which may have literals of its own. */
  #template(): void {
    this.#at++
    const outer = this.#prose
    this.#prose = ''
    let literal = ''
    let inner = ''
    while (this.#at < this.#text.length && !this.#startsWith('`')) {
      if (this.#startsWith('${')) {
        this.#prose = ''
        this.#expression()
        inner += this.#prose.replace(/\n/g, ' ')
        literal += `_${this.#prose.replace(/[^\n]/g, '')}`
      } else {
        const start = this.#at
        this.#character()
        literal += this.#text.slice(start, this.#at)
      }
    }
    this.#at++
    this.#prose = outer
    this.#literal(literal)
    if (/\w/.test(inner)) this.#prose += inner
  }

  #expression(): void {
    this.#at += 2
    this.#before = ''
    for (let depth = 1; depth > 0 && this.#at < this.#text.length; ) {
      if (this.#startsWith('{')) depth++
      else if (this.#startsWith('}')) depth--
      this.#token()
    }
  }

  /** Skips one character of a literal; an escaped one is two. */
  #character(): void {
    this.#at += this.#startsWith('\\') ? 2 : 1
  }

  #literal(literal: string): void {
    const text = withoutCode(literal.replaceAll('\\`', '`'))
    const isProse = /[A-Za-z]{2,}[^A-Za-z]*\s[^A-Za-z]*[A-Za-z]/.test(text) && !CODE.test(text)
    this.#prose += isProse ? `. ${text.replace(/\\[nt]/g, ' ')} ` : literal.replace(/[^\n]/g, '')
    this.#before = ')'
    this.#isAfterLineComment = false
  }

  #isExpressionExpected(): boolean {
    const before = this.#before.trimEnd()
    return !/[\w$)\]}]$/.test(before) || BEFORE_EXPRESSION.test(before)
  }

  #regularExpression(): void {
    this.#at++
    for (let isInClass = false; this.#at < this.#text.length; this.#character()) {
      if (this.#startsWith('\n') || (this.#startsWith('/') && !isInClass)) break
      if (this.#startsWith('[')) isInClass = true
      else if (this.#startsWith(']')) isInClass = false
    }
    this.#at++
    this.#before = ')'
    this.#isAfterLineComment = false
  }

  #indexOf(token: string, from: number): number {
    const index = this.#text.indexOf(token, from)
    return index === -1 ? this.#text.length : index
  }
}

/** Leaves out code in backticks, and the keywords of SQL. */
function withoutCode(prose: string): string {
  return prose.replace(/`[^`\n]*`/g, '``').replace(/\bWHERE\b/g, '')
}
