import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { allDocuments, type Block, blocksIn, blocksOf, outsideBlocks } from './support/documents.js'
import { root, textOf } from './support/sources.js'

interface BlockCheck {
  readonly language: string
  /** The documents whose blocks are checked. */
  readonly documents: RegExp
  /** The tests that check them. */
  readonly by: readonly string[]
  /** The name of the document or folder, as these tests have it. */
  readonly named?: string
}

const ALL = /./
const FOR_USERS = /^(?:README|docs\/[\w/-]+)\.md$/
/** What runs or compiles the blocks of each language. */
const CHECKS: readonly BlockCheck[] = [
  // Compiled, some of them within an example. Of some guides the programs are also run.
  { language: 'ts', documents: FOR_USERS, by: ['test/documents.test.ts'] },
  { language: 'tsx', documents: FOR_USERS, by: ['test/documents.test.ts'] },
  // Run with Node alone, and against a Postgres.
  { language: 'js', documents: /^README\.md$/, by: ['test/cli/first-steps.test.ts'], named: 'README.md' },
  {
    language: 'js',
    documents: /^docs\/start\/tutorial\.md$/,
    by: ['test/cli/first-steps.test.ts'],
    named: 'docs/start/tutorial.md',
  },
  // Commands of npm are checked below. Commands of listwatch have a command and options that exist.
  { language: 'sh', documents: ALL, by: ['test/document-blocks.test.ts', 'test/cli/documented-commands.test.ts'] },
  // Sent to a Kubernetes API server, which then grants these rights.
  {
    language: 'yaml',
    documents: /^docs\/reference\/kubernetes\.md$/,
    by: ['test/kubernetes/rbac.test.ts'],
    named: 'docs/reference/kubernetes.md',
  },
  // Run while a program writes to the table.
  {
    language: 'sql',
    documents: /^docs\/reference\/postgres\.md$/,
    by: ['test/postgres/ddl.test.ts'],
    named: 'docs/reference/postgres.md',
  },
  // Sent to Redis, whose users then read and write.
  {
    language: 'redis',
    documents: /^docs\/reference\/redis\.md$/,
    by: ['test/redis/guide.test.ts'],
    named: 'docs/reference/redis.md',
  },
  // nginx runs with these directives while a server behind it stops.
  {
    language: 'nginx',
    documents: /^docs\/how-to\/stopping\.md$/,
    by: ['test/cli/examples.test.ts'],
    named: 'docs/how-to/stopping.md',
  },
  // Read as a file of mutants, and compared with those that exist.
  {
    language: 'mutants',
    documents: /^CONTRIBUTING\.md$/,
    by: ['test/mutants/quotes.test.ts'],
    named: 'CONTRIBUTING.md',
  },
  // Drawings, which contain no code.
  { language: 'text', documents: ALL, by: ['test/document-blocks.test.ts'] },
]

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}
const manifest = JSON.parse(textOf('package.json')) as Manifest

/** The other commands of shell blocks, and the test that has the same command. */
const OTHER_COMMANDS: ReadonlyMap<string, string> = new Map([
  ['kill -USR2 "$PID"', 'test/debug-signal.test.ts'],
  [
    'curl -H "Authorization: Bearer $TOKEN" "http://127.0.0.1:40123/api/objects?tenant=acme"',
    'test/unit/inspector/inspector.test.ts',
  ],
])

/** The parts of a command line: what `&&` joins, and commands of npm in its comment. */
function commandsIn(line: string): readonly string[] {
  const [command = '', comment = ''] = line.split(/(?<=^|\s)#/)
  const commented = Array.from(comment.matchAll(/npm i [^;,]*/g), ([text]) => text)
  return [...command.split('&&'), ...commented].map((each) => each.trim()).filter((each) => each !== '')
}

/** Why this command cannot be run. */
function flawOf(command: string): string | undefined {
  const [program = '', verb = '', ...words] = command.split(/\s+/)
  if (OTHER_COMMANDS.has(command) || /^(?:npx )?listwatch /.test(command)) return undefined
  if (`${program} ${verb} ${words[0]}` === 'npx vitest --project')
    return textOf('vitest.config.ts').includes(`'${words[1]}'`) ? undefined : `there is no project ${words[1]}`
  // The steps of a tutorial around its programs, which a test runs.
  if (
    /^(?:cd|docker|export|mkdir|node|PORT=\d+)$/.test(program) ||
    /^npm (?:init -y|pkg set type=module)$/.test(command)
  )
    return undefined
  if (program !== 'npm') return 'nothing checks this command'
  switch (verb) {
    case 'ci':
      return words.length === 0 ? undefined : 'npm ci has no arguments'
    case 'i':
    case 'install': {
      const isDev = words[0] === '-D'
      const known = isDev ? manifest.devDependencies : { listwatch: '', ...manifest.peerDependencies }
      const unknown = words.slice(isDev ? 1 : 0).filter((name) => !Object.hasOwn(known, name))
      return unknown.length === 0 ? undefined : `not in package.json: ${unknown.join(', ')}`
    }
    default: {
      const script = verb === 'run' ? (words[0] ?? '') : verb
      return Object.hasOwn(manifest.scripts, script) ? undefined : `there is no script ${script}`
    }
  }
}

/** The document of a place: `README.md` of `README.md:12`. */
function documentOf(place: string): string {
  return place.replace(/:\d+$/, '')
}

/** The flaws of a block: nothing runs or compiles it, or one of its commands cannot be run. */
function flawsOf({ place, language, text }: Block): readonly string[] {
  if (!CHECKS.some((check) => check.language === language && check.documents.test(documentOf(place))))
    return [`${place}: no test runs or compiles blocks of the language '${language}' of this document`]
  if (language === 'text' && !/[─│]/.test(text)) return [`${place}: a block of the language 'text' has no drawing`]
  if (language !== 'sh') return []
  return text.split('\n').flatMap((line) =>
    commandsIn(line).flatMap((command) => {
      const flaw = flawOf(command)
      return flaw === undefined ? [] : [`${place}: ${command}: ${flaw}`]
    }),
  )
}

/** The lines that begin or end a block, in a form that `blocksIn` does not know. */
function otherFencesIn(document: string): readonly string[] {
  return outsideBlocks(document).match(/^[ \t>*+\d.)-]*(?:```|~~~).*$/gm) ?? []
}

describe('every block of code in a document is run or compiled by a test', () => {
  test.each(allDocuments())('%s', (path) => {
    expect([otherFencesIn(textOf(path)), blocksOf([path]).flatMap(flawsOf)]).toEqual([[], []])
  })

  test('each of these tests exists, and reads the document', () => {
    const blocks = blocksOf(allDocuments())
    expect(blocks.length).toBeGreaterThan(120)
    for (const { language, documents, by, named = '' } of CHECKS) {
      const checked = blocks.filter((block) => block.language === language && documents.test(documentOf(block.place)))
      expect(checked, language).not.toEqual([])
      expect(by.filter((path) => !existsSync(join(root, path)) || !textOf(path).includes(named))).toEqual([])
    }
  })

  test('the tests of other commands exist, and have the command', () => {
    for (const [command, path] of OTHER_COMMANDS) {
      expect(blocksOf().some(({ text }) => text.includes(command))).toBe(true)
      const [program = '', option = ''] = command.split(' ')
      expect(textOf(path)).toContain(program === 'kill' ? option.replace('-', 'SIG') : program)
    }
  })
})

describe('the check finds', () => {
  const sh = (command: string): string => `\`\`\`sh\n${command}\n\`\`\`\n`

  test.each([
    ['a language that nothing compiles', '```go\nx := 1\n```\n', "'go'"],
    ['a block without a language', '```\nx\n```\n', "''"],
    ['a manifest in a document that no test reads', '```yaml\na: 1\n```\n', "'yaml'"],
    ['code that is called a text', '```text\nlistwatch watch\n```\n', 'has no drawing'],
    ['a script that does not exist', sh('npm ci && npm run nothing'), 'there is no script nothing'],
    ['a package that the project does not use', sh('npm i listwatch left-pad'), 'package.json: left-pad'],
    ['a package in a comment', sh('npm i listwatch   # also: npm i -D left-pad'), 'package.json: left-pad'],
    ['a project of tests that does not exist', sh('npx vitest --project nothing'), 'there is no project nothing'],
    ['another program', sh('brew install listwatch'), 'nothing checks this command'],
  ])('%s', (_name, document, flaw) => {
    expect(blocksIn(document, 'docs/x.md').flatMap(flawsOf)).toEqual([expect.stringContaining(flaw)])
  })

  test.each([
    '  ```sh\n  x\n  ```\n',
    '~~~sh\nx\n~~~\n',
    '```sh title=x\ny\n```\n',
    '- ```sh\n  x\n  ```\n',
    '```c++\nx\n```\n',
  ])('a block that it cannot read: %j', (document) => expect(otherFencesIn(document)).not.toEqual([]))
})
