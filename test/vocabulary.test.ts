import { describe, expect, test } from 'vitest'
import { guides } from './support/documents.js'
import { proseOfTypeScript } from './support/prose-of-typescript.js'
import { withoutRules } from './support/rule-tags.js'
import { filesUnder, PRODUCT, textOf } from './support/sources.js'
import { findings, proseOf } from './support/vocabulary.js'

const documents = ['README.md', 'SPEC.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', ...guides()]

describe('the documents', () => {
  test.each(documents)('%s has no forbidden phrase', (path) => {
    const found = findings(proseOf(textOf(path)))
    expect(found.map(({ line, phrase, instead }) => `${path}:${line} "${phrase}": write ${instead}`)).toEqual([])
  })

  test.each(documents)('%s wraps its prose at 120 columns', (path) => {
    expect(
      proseOf(textOf(path))
        .split('\n')
        .filter((line) => !line.startsWith('|') && line.length > 120),
    ).toEqual([])
  })
})

test('README.md has at most 900 words', () => {
  expect(textOf('README.md').trim().split(/\s+/).length).toBeLessThanOrEqual(900)
})

const folders = [...PRODUCT, 'tools', 'bench', 'examples', 'test']

/** The label of a random decision of the simulator. The stored seeds depend on it, so it cannot be renamed. */
const DECISION_LABEL = "'who is waited for'"

/** The findings in the comments and the texts of a TypeScript file, for a reader. */
function findingsIn(path: string): string[] {
  const found = findings(proseOfTypeScript(withoutRules(textOf(path)).replace(DECISION_LABEL, "''")))
  return found.map(({ line, phrase, instead }) => `${path}:${line} "${phrase}": write ${instead}`)
}

describe('the comments, messages and test titles', () => {
  test.each(folders)('of %s/ have no forbidden phrase', (folder) => {
    // This test quotes the phrases.
    const files = filesUnder([folder], '.ts').filter((path) => path !== 'test/vocabulary.test.ts')
    expect(files.length).toBeGreaterThan(0)
    expect(files.flatMap(findingsIn)).toEqual([])
  })

  test.each(filesUnder(['test/mutants'], '.mutants'))('of %s have no forbidden phrase', (path) => {
    const prose = proseOf(textOf(path).replace(/^(- |\+ |dies by ).*/gm, ''))
    expect(findings(prose).map(({ line, phrase, instead }) => `${path}:${line} "${phrase}": write ${instead}`)).toEqual(
      [],
    )
  })
})

describe('findings', () => {
  test.each([
    'A list is streamed where the server can.',
    'Where it refuses, the list is read in pages.',
    'Whoever waits is notified.',
    'Who waits is notified.',
    'One watch is enough for all who wait.',
    'It gives a version.',
    'It gave a version.',
    'After so many milliseconds the watch is closed.',
    'Nobody waits.',
    'Somebody else has written.',
    'The watch goes\non.',
    'That is no list.',
    'Its version is none.',
    'The wish of the server.',
    'A watch in doubt.',
    'The home of a version.',
    'It is written elsewhere.',
    'A visit of the API.',
    'Accepted without a word.',
    'There was news.',
    'Each byte is a sign of life.',
    'Its farewell.',
    'It mends what drifts.',
    'It is made anew.',
    'Retried for ever.',
    'The server is left alone.',
  ])('reports %j once', (text) => expect(findings(text)).toHaveLength(1))

  test('reports "from where" as two phrases, with the number of their line', () => {
    expect(findings('first\nfrom where we were').map(({ line, phrase }) => [line, phrase])).toEqual([
      [2, 'where'],
      [2, 'from where'],
    ])
  })
})

test('withoutRules leaves out the rules in front of a title, behind which a phrase begins', () => {
  const title = "test('[B22][law 4c] who waits is notified', () => {})"
  expect(findings(proseOfTypeScript(title))).toEqual([])
  expect(findings(proseOfTypeScript(withoutRules(title)))).toHaveLength(1)
})

describe('proseOfTypeScript', () => {
  function wordsOf(text: string): string {
    return proseOfTypeScript(text).replace(/\s+/g, ' ').trim()
  }

  test.each([
    ['a line comment', 'run() // It runs.', '. It runs.'],
    ['a line comment over two lines as one text', '// It goes\n  // on.\nrun()', '. It goes on.'],
    ['two comments with code between as two texts', 'a() // It goes\nb() // on.', '. It goes . on.'],
    ['a block comment without its stars', '/**\n * It goes\n * on.\n */', '. It goes on.'],
    ['a comment without its code', '/* If `where` is set. */', '. If `` is set.'],
    ['strings of two words', `f('no one', "not 'one'")`, ". no one . not 'one'"],
    ['a string with an escaped quote', `f('it isn\\'t so')`, ". it isn\\'t so"],
    [
      'a template with the texts in its expressions',
      `f(\`not \${g('two words', \`an \${b} word\`)} yet\`)`,
      '. not _ yet . two words . an _ word',
    ],
    [
      'a string behind braces in a template',
      `f(\`an \${{ a: 1 }.a} object\`); g("two words")`,
      '. an _ object . two words',
    ],
    ['a comment behind a regular expression with a quote', "x.replace(/['/]/g, y) // It runs.", '. It runs.'],
    ['a string behind a regular expression that is returned', `return /"/.test('two words')`, '. two words'],
    ['a comment behind a division', 'a = b / c // It runs.', '. It runs.'],
  ])('keeps %s', (_, text, words) => expect(wordsOf(text)).toBe(words))

  test('keeps the number of every line', () => {
    const text = ['/*', ' * a', ' */', 'f(`two', '${x(', '  1)} words`)', '', "g('nobody waits')"].join('\n')
    expect(findings(proseOfTypeScript(text)).map(({ line }) => line)).toEqual([8])
    expect(proseOfTypeScript(text).split('\n')).toHaveLength(8)
  })
})
