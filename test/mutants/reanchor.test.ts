import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { entriesOf } from './format.js'
import { reanchored } from './reanchor.js'
import { shortened } from './shorten.js'

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
  const { patch, remarks } = reanchored(files, () => new Map([['src/door.ts', source]]))
  return { text, patch, remarks, lines: patch.split('\n').filter((line) => /^[-+][-+] /.test(line)) }
}

test('a mutant whose quotes are there once stays as it is', () => {
  const { patch, remarks } = reanchoredIn(SOURCE, entry('a locked door opens', '- if (this.#isLocked) return'))
  expect([patch, remarks]).toEqual(['', []])
})

test('a quote that is gone gets the words of the line that resembles it most, in its replacement too', () => {
  const { lines, remarks } = reanchoredIn(
    SOURCE.replaceAll('#opens', '#times').replace("'open', ", "'open', this, "),
    entry('a count is late', "- this.#report('open', this.#opens)", "+ this.#report('open', this.#opens - 1)"),
  )
  expect(lines).toEqual([
    "-- this.#report('open', this.#opens)",
    "-+ this.#report('open', this.#opens - 1)",
    '+- this, this.#times',
    '++ this, this.#times - 1',
  ])
  expect(remarks).toEqual([
    expect.stringMatching(/^door\.mutants:1: "a count is late": the quote is gone; src\/door\.ts:5 /),
  ])
})

test('of a quote that is there twice, the first place is quoted uniquely, and all places are named', () => {
  const { lines, remarks } = reanchoredIn(SOURCE, entry('no count', '- this.#opens)', '+ 0)'))
  expect(lines).toEqual([
    '-- this.#opens)',
    '-+ 0)',
    "+- this.#report('open', this.#opens)",
    "++ this.#report('open', 0)",
  ])
  expect(remarks).toEqual([expect.stringMatching(/2 times.*: src\/door\.ts:5, src\/door\.ts:9$/)])
})

test('a quote that nothing resembles is reported, and stays', () => {
  const { patch, remarks } = reanchoredIn(SOURCE, entry('a window', '- window.shatter(now)'))
  expect([patch, remarks]).toEqual(['', ['door.mutants:1: "a window": nothing resembles: window.shatter(now)']])
})

test('git applies the patch', () => {
  const folder = mkdtempSync(join(tmpdir(), 'listwatch-mutants-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const kept = Array.from({ length: 5 }, (_, nth) => entry(`kept ${nth}`, '- this.#isOpen = false'))
  const { text, patch } = reanchoredIn(
    SOURCE.replaceAll('isLocked', 'isBarred'),
    entry('first', '- if (this.#isLocked) return', '+ if (!this.#isLocked) return'),
    ...kept,
    entry('last', '- if (this.#isLocked) return', '+ return', '- this.#isOpen = false'),
  )
  writeFileSync(join(folder, 'door.mutants'), text)
  execFileSync('git', ['apply'], { cwd: folder, input: patch })
  const applied = readFileSync(join(folder, 'door.mutants'), 'utf8')
  expect(applied).toBe(text.replaceAll('isLocked', 'isBarred'))
})

test.each([
  ['an expression of a long line', '1 + 2', '2', '1 + 2 + 3 + 4 + 5', '2 + 3 + 4 + 5'],
  ['a whole line instead of its end', 'this.#count += 1', 'this.#count', 'this.#count += 1', 'this.#count'],
  ['a line of its own for an addition', 'end()', 'end()\n    again()', 'this.#end()', 'this.#end()\n  again()'],
])('the best quote has %s', (_what, find, replace, quote, replacement) => {
  const text = '{\n  this.#report(a, [1 + 2 + 3 + 4 + 5], this.#count, 5)\n  this.#count += 1\n  this.#end()\n}\n'
  const start = text.indexOf(find)
  const place = { path: 'src/a.ts', start, end: start + find.length }
  expect(shortened(place, replace, new Map([[place.path, text]]))).toEqual({ quote, replacement })
})
