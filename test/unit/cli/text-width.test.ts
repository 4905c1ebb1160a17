import { expect, test } from 'vitest'
import { fitted, widthOf } from '../../../cli/output/text-width.js'

const red = (text: string): string => `\u001b[31m${text}\u001b[39m`

test.each([
  ['', 0],
  ['plain', 5],
  [red('red'), 3],
  ['日本', 4],
  ['🎉!', 3],
  ['e\u0301', 1],
  ['→…–', 3],
])('the width of a text on a terminal %s', (text, width) => expect(widthOf(text)).toBe(width))

test.each([
  ['fits', 4, 'fits'],
  ['is too long', 6, 'is to…'],
  ['日本語', 5, '日本…'],
  ['日本語', 4, '日…'],
  [`${red('red')} and more`, 5, `${red('red')} …`],
  [red('all red'), 4, red('all…')],
  ['one', 1, '…'],
  ['none', 0, ''],
])('a text that is cut to the width of a terminal %s, %d columns', (text, columns, shown) => {
  expect(fitted(text, columns)).toBe(shown)
  expect(widthOf(fitted(text, columns))).toBeLessThanOrEqual(columns)
})
