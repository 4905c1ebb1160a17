import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from './support/sources.js'

const spec = readFileSync(join(root, 'SPEC.md'), 'utf8')

/** What a line refers to: files of tests, and a title in each. */
function references(text: string): readonly { readonly file: string; readonly title: string }[] {
  return Array.from(text.matchAll(/`(test\/[\w./-]+\.test\.ts)` › "([^"]+)"/g), ([, file = '', title = '']) => ({
    file,
    title,
  }))
}

/** The rows of all tables of which the first cell is this. */
function row(first: string): string {
  return spec.split('\n').find((line) => line.startsWith(`| ${first} |`)) ?? ''
}

/** What calls in a file have as their first argument, where that is a text: titles of tests and groups among them. */
function titles(file: string): string {
  const text = existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : ''
  return Array.from(text.matchAll(/\(\s*(['"`])((?:(?!\1).)*)\1/g), ([, , title = '']) => title).join('\n')
}

describe('SPEC.md', () => {
  test.each([...new Set(references(spec).map(({ file }) => file))])('names tests that there are in %s', (file) => {
    const there = titles(file)
    const named = references(spec).filter((reference) => reference.file === file)
    expect(named.filter(({ title }) => !there.includes(title)).map(({ title }) => title)).toEqual([])
  })

  test.each(['1', '2', '3', '4', '5', '6', '7', '8'])('has tests for law %s of DeltaFIFO', (law) => {
    expect(references(row(law)).length).toBeGreaterThan(0)
  })

  test.each(Array.from({ length: 17 }, (_, i) => `I${i + 1}`))('has tests for %s', (name) => {
    expect(references(row(name)).length).toBeGreaterThan(0)
  })

  test('names a test in each row of what sources and users may do', () => {
    const rows = spec
      .split('\n')
      .filter((line) => /^\| [a-z`]/.test(line) && line.split('|').length === 5 && !line.startsWith('| input |'))
    expect(rows.length).toBeGreaterThan(25)
    expect(
      rows.filter(
        (line) => !line.startsWith('| the source |') && !line.startsWith('| law |') && references(line).length === 0,
      ),
    ).toEqual([])
  })
})
