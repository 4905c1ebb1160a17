import { afterAll, describe, expect, test } from 'vitest'
import { describeServer } from '../../servers/index.js'
import { isDrawn } from '../../support/draw.js'
import { adapterMutants } from '../index.js'
import { MutantTests } from '../test-process.js'

/** All of them take half an hour: LISTWATCH_ADAPTER_MUTANTS is the name of an adapter, or a part of a mutant's name. */
const WANTED = process.env['LISTWATCH_ADAPTER_MUTANTS'] ?? ''

const wanted = adapterMutants.filter(({ name, folder }) =>
  WANTED === '' ? isDrawn(name) : folder.endsWith(`/${WANTED}`) || name.includes(WANTED),
)
const servers = new Set(wanted.map(({ server }) => server))

/** The processes without a mutant now. */
const idle: MutantTests[] = []
afterAll(() => Promise.all(idle.map((tests) => tests.close())))

function makesTestFail(mutant: (typeof wanted)[number]): void {
  const { server, onlyBy } = mutant
  const named = server === undefined ? onlyBy.named : `${server} … ${onlyBy.named}`
  // Each waits for its server much of the time.
  test.concurrent(`that ${mutant.name}`, { timeout: 480_000 }, async () => {
    const tests = idle.pop() ?? new MutantTests({ LISTWATCH_TEST_TIMEOUT_MS: '60000' })
    try {
      expect(await tests.failureOf(mutant, { ...onlyBy, named })).toBeDefined()
    } finally {
      idle.push(tests)
    }
  })
}

test('there are defects of adapters that name a test', () => {
  expect(adapterMutants.length).toBeGreaterThan(0)
})

describe.each([...servers])('a defect of an adapter', (server) => {
  const theirs = wanted.filter((mutant) => mutant.server === server)
  const declare = (): void => {
    for (const mutant of theirs) makesTestFail(mutant)
  }
  if (server === undefined) declare()
  else describeServer(server, 'makes a test fail', declare)
})
