import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { binary, ensureBuilt } from './support/build.js'
import { blocksOf, countOfExampleTags, exampleBlocks, guides } from './support/documents.js'
import { filesUnder, root, textOf } from './support/sources.js'
import { TAKEN_FOR_GRANTED } from './support/taken-for-granted.js'
import { UserProject } from './support/user-project.js'

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noPropertyAccessFromIndexSignature: true,
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2024', 'esnext.disposable', 'esnext.iterator'],
    types: ['node'],
    jsx: 'react-jsx',
    skipLibCheck: true,
    noEmit: true,
  },
}

/** The lines of a text, however far in they stand. */
function linesOf(text: string): string {
  return `\n${text
    .trim()
    .split(/,?\n\s*/)
    .join('\n')}\n`
}

const examples = filesUnder(['examples'], '.ts').map((path) => linesOf(textOf(path)))
// A piece of an example is compiled there.
const blocks = blocksOf()
  .filter(({ language }) => language === 'ts' || language === 'tsx')
  .filter(({ text }) => !examples.some((example) => example.includes(linesOf(text))))
  .concat(exampleBlocks())
const project = new UserProject([
  ...'@kubernetes/client-node @nats-io @opentelemetry/api @tanstack/db @types/express @types/node'.split(' '),
  ...'@types/pg @types/react etcd3 express ioredis mysql2 pg react vitest zod'.split(' '),
])
afterAll(() => project[Symbol.dispose]())

describe('every TypeScript block of the documents and docstrings compiles against the built package', () => {
  let errors: string[] = []
  beforeAll(async () => {
    await ensureBuilt()
    project.write('tsconfig.json', JSON.stringify(TSCONFIG))
    project.write('taken-for-granted.ts', TAKEN_FOR_GRANTED)
    for (const [at, { language, text }] of blocks.entries())
      project.write(`block-${at}.${language}`, `${text}\nexport {}\n`)
    const { stdout } = spawnSync(binary('tsc'), ['-p', '.', '--pretty', 'false'], {
      cwd: project.path,
      encoding: 'utf8',
    })
    errors = stdout.split('\n').filter((line) => line !== '')
  })

  test('documents and docstrings have blocks', () => {
    expect(blocks.length).toBeGreaterThan(5)
    expect(exampleBlocks().length).toBeGreaterThan(200)
    expect(exampleBlocks()).toHaveLength(countOfExampleTags())
    expect(errors.filter((line) => !/^block-\d+\.tsx?|^ /.test(line))).toEqual([])
  })

  test.each(blocks.map(({ place, language }, at) => [place, `block-${at}.${language}(`] as const))(
    '%s',
    (_place, file) => expect(errors.filter((line) => line.startsWith(file))).toEqual([]),
  )
})

test('a table of options is in docs/reference/options.md only, which is made from the declarations', () => {
  const paths = guides().filter((path) => /^\| option \|[^\n]*\n[^\n]*\n\| `(?!--)/m.test(textOf(path)))
  expect(paths).toEqual(['docs/reference/options.md'])
})

/** The files and folders of the repository that a document names as inline code. `x` stands for any name. */
function pathsIn(document: string): string[] {
  const paths = document.matchAll(/`((?:adapters|bench|cli|docs|examples|scripts|src|test|testing|tools)\/[\w./-]*)`/g)
  return Array.from(paths, ([, path = '']) => path).filter((path) => !path.endsWith('/x.test.ts'))
}

describe('every file and folder that a document names exists', () => {
  const documents = ['README.md', 'SPEC.md', 'CONTRIBUTING.md', 'SECURITY.md', ...guides()]
  test.each(documents)('%s', (path) => {
    const exists = (named: string): boolean => ['', '.test.ts'].some((ending) => existsSync(join(root, named + ending)))
    expect(pathsIn(textOf(path)).filter((named) => !exists(named))).toEqual([])
  })

  test('such names are found', () => expect(pathsIn(textOf('CONTRIBUTING.md')).length).toBeGreaterThan(20))
})
