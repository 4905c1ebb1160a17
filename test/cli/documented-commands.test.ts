import { expect, test } from 'vitest'
import { allDocuments, blocksOf } from '../support/documents.js'
import { listwatch, resultOf } from './support.js'

/** The command lines of `listwatch` in the documents, each with its place and its words. `npm start` is the demo. */
const lines = blocksOf(allDocuments())
  .filter(({ language }) => language === 'sh')
  .flatMap(({ place, text }) =>
    Array.from(text.matchAll(/^(?:(?:npx )?listwatch|(npm start --)) (.*)$/gm), ([, start, line = '']) => {
      const [command = '', comment = ''] = line.split(/\s#\s/)
      const words = command.split('|', 1).join('').trim().split(/\s+/)
      const commented = comment.match(/(?<!\S)--[a-z][\w-]*/g) ?? []
      return { place, words: [...(start === undefined ? [] : ['demo']), ...words, ...commented] }
    }),
  )

/** The help of a command, which has its options. */
const helps = new Map<string, Promise<string>>()
function helpOf(path: readonly string[]): Promise<string> {
  const id = path.join(' ')
  const help =
    helps.get(id) ?? resultOf(listwatch([...path, '--help'])).then(({ code, output }) => `${code}\n${output}`)
  helps.set(id, help)
  return help
}

test('documents have command lines', () => {
  expect(lines.length).toBeGreaterThan(20)
  expect(lines.some(({ words }) => words[0] === 'demo')).toBe(true)
  expect(lines.some(({ words }) => words.at(-1) === '--cluster')).toBe(true)
})

test.each(lines.map(({ place, words }) => [place, words.join(' '), words] as const))(
  '%s: listwatch %s has a command and options that exist',
  async (_place, _line, words) => {
    const path = words.slice(0, words[0] === 'pg' || words[0] === 'sqlite' ? 2 : 1)
    const help = await helpOf(path)
    expect(help).toMatch(new RegExp(`^0\nUsage: listwatch ${path.join(' ')} `))
    const options = words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.replace(/=.*$/, ''))
    expect(options.filter((option) => !new RegExp(`^  (-\\w, )?${option}\\b|^  ${option}, `, 'm').test(help))).toEqual(
      [],
    )
  },
)
