import { expect, test } from 'vitest'
import { entriesOf, folderOf } from './format.js'

const PATH = 'test/mutants/core/store.mutants'

function mutantsOf(...lines: readonly string[]) {
  return entriesOf(PATH, `${lines.join('\n')}\n`).map(({ mutant }) => mutant)
}

test('an entry has a name, a promise, options and hunks', () => {
  const lines = [
    '// What this file is about.',
    'kind set',
    '',
    '// When it shows.',
    '# a defect',
    'a promise (S3)',
    'dies by unit/store/store.test.ts › a title … of a test',
    'schedules 3000',
    '- if (a) {',
    '-   b()',
    '+ if (a && c) {',
    '+   b()',
    '- left out',
    '',
    '- another',
    '',
    '# the next one',
    'another promise',
    'kind cache',
    '- d',
    '+ e',
  ]
  const [first, second] = mutantsOf(...lines)
  expect(first).toEqual({
    name: 'a defect',
    breaks: 'a promise (S3)',
    folder: 'src',
    kind: 'set',
    maxSchedules: 3_000,
    onlyBy: { test: 'unit/store/store.test.ts', named: 'a title … of a test' },
    hunks: [
      { quote: 'if (a) {\n  b()', replacement: 'if (a && c) {\n  b()' },
      { quote: 'left out', replacement: '' },
      { quote: 'another', replacement: '' },
    ],
  })
  expect(second).toMatchObject({ name: 'the next one', kind: 'cache', hunks: [{ quote: 'd', replacement: 'e' }] })
})

test.each([
  ['no name', ['a promise', '- a'], ':1: expected # and the name of a mutant, got "a promise"'],
  ['no promise', ['# a', '- a'], ':2: expected the promise that the mutant breaks, got "- a"'],
  ['no quote', ['# a', 'b', '+ c'], ':3: expected "dies by'],
  ['an unknown option', ['# a', 'b', 'schedule 3', '- c'], ':3: expected "dies by'],
  ['an unknown kind', ['# a', 'b', 'kind two', '- c'], ':3: expected kind one|set|'],
  ['no number', ['# a', 'b', 'schedules many', '- c'], ':3: expected schedules 5000, got "schedules many"'],
  ['a test without a title', ['# a', 'b', 'dies by unit/a.test.ts', '- c'], ':3: expected dies by unit/'],
  ['text after a hunk', ['# a', 'b', '- c', '', 'd'], ':5: expected # and the name of a mutant, got "d"'],
])('%s is refused with its line', (_what, lines, message) => {
  expect(() => mutantsOf(...lines)).toThrow(new RegExp(`^${PATH}${message.replaceAll(/[^\w\s]/g, '\\$&')}`))
})

test('the path of a file names the folder that it quotes', () => {
  expect(
    ['core/store', 'foreign/third', 'adapters/etcd', 'telemetry'].map((each) =>
      folderOf(`test/mutants/${each}.mutants`),
    ),
  ).toEqual(['src', 'src', 'adapters/etcd', 'telemetry'])
})
