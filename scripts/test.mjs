// Runs a set of tests while the servers that they need are fetched. Arguments are those of Vitest.
//   core     what a contributor needs to trust a change, in minutes: npm test
//   mutants  defects that the schedules or a test must find
//   rest     the others
//   all      all of them: npm run test:all
//   changed  what the files need that differ from the branch main: npm run test:changed
import { execFileSync, spawn } from 'node:child_process'
import './typescript.mjs'

const CORE = ['unit', 'property', 'package', 'types', 'simulation', 'kit', 'conformance', 'faults']
const SETS = {
  core: () => CORE,
  mutants: () => ['mutants'],
  rest: () => [...CORE, 'mutants'].map((name) => `!${name}`),
  all: () => ['*'],
  changed,
}

const [set = 'core', ...args] = process.argv.slice(2)
if (!Object.hasOwn(SETS, set)) throw new Error(`the set of tests must be ${Object.keys(SETS).join(', ')}, got ${set}`)
// A user's own selection replaces that of the set.
const selection = args.some((arg) => arg.startsWith('--project')) ? [] : SETS[set]().map((name) => `--project=${name}`)

const { provision } = await import('../test/servers/provision.ts')
const { recipeOf, serverNames } = await import('../test/servers/recipes.ts')
// Another draw than the first may need any version.
const isFirst = set === 'core' && process.env.LISTWATCH_DRAW === undefined
const servers = serverNames.filter((name) => !isFirst || recipeOf(name).isForAllTests !== true)
const begun = Promise.withResolvers()
const fetching = provision((text) => process.stdout.write(text), servers, begun.resolve)
await Promise.race([begun.promise, fetching])
const vitest = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...selection, ...args], {
  stdio: 'inherit',
  // One campaign of faults for each server, and all of them in the other sets.
  env: { ...(isFirst ? { LISTWATCH_DRAW: 'first' } : {}), ...process.env },
})
const code = await new Promise((resolve) => vitest.once('close', resolve))
const isComplete = await fetching
process.exitCode = code === 0 && isComplete ? 0 : 1

/** An adapter imports neither another one nor the core: test/architecture.test.ts has the rules. */
function changed() {
  const git = (...words) => execFileSync('git', words, { encoding: 'utf8' }).split('\n').filter(Boolean)
  const [base] = git('merge-base', 'main', 'HEAD')
  const files = [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')]
  const projects = new Set(['package'])
  for (const file of files) {
    const [, adapter] =
      /^(?:adapters|test(?:\/unit\/adapters)?)\/(etcd|kubernetes|mysql|nats|postgres|redis|sqlite)[-/]/.exec(file) ?? []
    if (adapter !== undefined)
      for (const name of [...(adapter === 'sqlite' ? [] : [adapter]), 'kit', 'conformance', 'unit']) projects.add(name)
    else if (/^test\/(unit|property)\//.test(file)) projects.add(file.split('/')[1])
    else if (!/^docs\/|\.md$/.test(file)) return ['*']
  }
  return [...projects]
}
