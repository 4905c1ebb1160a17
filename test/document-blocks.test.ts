import { describe, expect, test } from 'vitest'
import { allDocuments, type Block, blocksIn, blocksOf, outsideBlocks } from './support/documents.js'
import { textOf } from './support/sources.js'

/** A test that checks the blocks of a language in some documents. It reads a document that is named alone by that name. */
type BlockCheck = readonly [language: string, by: string, documents: RegExp | string]

const ALL = /./
const FOR_USERS = /^(?:README|docs\/[\w/-]+)\.md$/
/** What runs or compiles the blocks of each language. */
const CHECKS: readonly BlockCheck[] = [
  // Compiled, some of them within an example. Of some guides the programs are also run.
  ['ts', 'test/documents.test.ts', FOR_USERS],
  ['tsx', 'test/documents.test.ts', FOR_USERS],
  // Run with Node alone, and against a Postgres.
  ['js', 'test/cli/first-steps.test.ts', 'README.md'],
  ['js', 'test/cli/first-steps.test.ts', 'docs/start/tutorial.md'],
  // Commands of npm are checked below. Commands of listwatch have a command and options that exist.
  ['sh', 'test/document-blocks.test.ts', ALL],
  ['sh', 'test/cli/documented-commands.test.ts', ALL],
  // Sent to a Kubernetes API server, which then grants these rights.
  ['yaml', 'test/kubernetes/rbac.test.ts', 'docs/reference/kubernetes.md'],
  // Run while a program writes to the table.
  ['sql', 'test/postgres/ddl.test.ts', 'docs/reference/postgres.md'],
  // Run as an administrator, before a mirror lists as the new user.
  ['sql', 'test/cli/mysql.test.ts', 'docs/reference/mysql.md'],
  // Sent to Redis, whose users then read and write.
  ['redis', 'test/redis/guide.test.ts', 'docs/reference/redis.md'],
  // nginx runs with these directives while a server behind it stops.
  ['nginx', 'test/cli/examples.test.ts', 'docs/how-to/stopping.md'],
  // Read as a file of mutants, and compared with those that exist.
  ['mutants', 'test/mutants/quotes.test.ts', 'CONTRIBUTING.md'],
  // Drawings, which contain no code.
  ['text', 'test/document-blocks.test.ts', ALL],
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

/** Whether a check is of this block. The place `README.md:12` is in README.md. */
function isOf([language, , documents]: BlockCheck, block: Block): boolean {
  const document = block.place.replace(/:\d+$/, '')
  const isRead = typeof documents === 'string' ? documents === document : documents.test(document)
  return isRead && block.language === language
}

/** The flaws of a block: nothing runs or compiles it, or one of its commands cannot be run. */
function flawsOf(block: Block): readonly string[] {
  const { place, language, text } = block
  if (!CHECKS.some((check) => isOf(check, block)))
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
    for (const check of CHECKS) {
      const [language, by, documents] = check
      expect(
        blocks.filter((block) => isOf(check, block)),
        language,
      ).not.toEqual([])
      expect(textOf(by)).toContain(typeof documents === 'string' ? documents : '')
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
