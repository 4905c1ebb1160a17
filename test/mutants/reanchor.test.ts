import { expect, test } from 'vitest'
import { entriesOf } from './format.js'
import { reanchored } from './reanchor.js'

const SOURCE = `export class Door {
  open(): void {
    if (this.#isLocked) return
    this.#opens += 1
    this.#report('open', this.#opens)
  }

  close(): void {
    if (this.#isOpen) this.#report('close', this.#opens)
    this.#isOpen = false
  }
}
`

/** An entry whose defect is these lines. */
function entry(name: string, ...lines: readonly string[]): string {
  return `# ${name}\na promise\n${lines.join('\n')}\n`
}

function reanchoredIn(source: string, ...mutants: readonly string[]) {
  const path = 'door.mutants'
  const text = mutants.join('\n')
  const files = [{ path, text, entries: entriesOf('test/mutants/core/door.mutants', text) }]
  const { texts, remarks } = reanchored(files, () => new Map([['src/door.ts', source]]))
  const changed = texts.get(path)
  return { text, changed, remarks, hunk: changed?.split('\n').filter((line) => /^[-+] /.test(line)) }
}

test('a quote that is gone gets the words of the line that resembles it most, in its replacement too', () => {
  const { hunk, remarks } = reanchoredIn(
    SOURCE.replaceAll('#opens', '#times').replace("'open', ", "'open', this, "),
    entry('a count is late', "- this.#report('open', this.#opens)", "+ this.#report('open', this.#opens - 1)"),
  )
  expect(hunk).toEqual(["- this.#report('open', this, this.#times)", "+ this.#report('open', this, this.#times - 1)"])
  expect(remarks).toEqual([
    expect.stringMatching(/^door\.mutants:1: "a count is late": the quote is gone; src\/door\.ts:5 /),
  ])
})

test('a line that is there twice is quoted with the lines around it', () => {
  const { hunk } = reanchoredIn(
    SOURCE.replace('Locked) return', '$&\n    this.#isOpen = false'),
    entry('open', '- this.#isOpen = false'),
  )
  expect(hunk).toEqual([
    '- if (this.#isLocked) return',
    '- this.#isOpen = false',
    '- this.#opens += 1',
    '+ if (this.#isLocked) return',
    '+ ',
    '+ this.#opens += 1',
  ])
})

test('all other lines of a file stay', () => {
  const kept = Array.from({ length: 5 }, (_, nth) => entry(`kept ${nth}`, '- this.#isOpen = false'))
  const { text, changed } = reanchoredIn(
    SOURCE.replaceAll('isLocked', 'isBarred'),
    entry('first', '- if (this.#isLocked) return', '+ if (!this.#isLocked) return'),
    ...kept,
    entry('last', '- if (this.#isLocked) return', '+ return', '- this.#isOpen = false'),
  )
  expect(changed).toBe(text.replaceAll('isLocked', 'isBarred'))
})
