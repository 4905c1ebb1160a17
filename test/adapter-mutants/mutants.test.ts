import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { describeServer } from '../servers/index.js'
import { mutated } from '../simulation/mutants/mutate.js'
import { type Report, runTests } from '../simulation/mutants/tests.js'
import type { AdapterMutant } from './adapter-mutant.js'
import { etcdMutants } from './etcd.js'
import { fileCacheMutants } from './file-cache.js'
import { httpMutants } from './http.js'
import { kubernetesMutants } from './kubernetes.js'
import { natsMutants } from './nats.js'
import { postgresMutants } from './postgres.js'
import { redisMutants } from './redis.js'
import { shareMutants } from './share.js'

/** All of them take half an hour: LISTWATCH_ADAPTER_MUTANTS=all, the name of an adapter, or a part of a mutant's name. */
const WANTED = process.env['LISTWATCH_ADAPTER_MUTANTS'] ?? ''

const byAdapter = {
  etcd: etcdMutants,
  'file-cache': fileCacheMutants,
  http: httpMutants,
  kubernetes: kubernetesMutants,
  nats: natsMutants,
  postgres: postgresMutants,
  redis: redisMutants,
  share: shareMutants,
}
const adapters = Object.entries(byAdapter)
const mutants = adapters.flatMap(([, all]) => all)

test.each(mutants.map((mutant) => [mutant.name, mutant] as const))('"%s" can be made', (_name, mutant) => {
  expect(() => mutated(mutant)).not.toThrow()
})

test('every mutant has a name of its own', () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
})

test.each(adapters)('every mutant of %s is a defect of that adapter', (adapter, all) => {
  for (const { name, file } of all) expect(file, name).toContain(`adapters/${adapter}/`)
})

function judged(mutant: AdapterMutant): Promise<Report> {
  const { test: file, named, server } = mutant
  const pattern = server === undefined ? named : `${server.replaceAll('.', '\\.')} .*${named}`
  return runTests(mutant, ['--testTimeout=60000', '-t', pattern, join('test', file)])
}

function makesTestFail(mutant: AdapterMutant): void {
  test(`that ${mutant.name}`, { timeout: 240_000 }, async () => {
    const { numFailedTests, numPassedTests } = await judged(mutant)
    process.stdout.write(`${mutant.name}: ${numFailedTests} failed, ${numPassedTests} passed\n`)
    expect(numFailedTests, `${numPassedTests} passed`).toBeGreaterThan(0)
  })
}

const wanted = adapters.flatMap(([adapter, all]) =>
  all.filter(({ name }) => WANTED !== '' && (WANTED === 'all' || WANTED === adapter || name.includes(WANTED))),
)
const servers = new Set(wanted.map(({ server }) => server))

describe.each([...servers])('a defect of an adapter', (server) => {
  const theirs = wanted.filter((mutant) => mutant.server === server)
  const declare = (): void => {
    for (const mutant of theirs) makesTestFail(mutant)
  }
  if (server === undefined) declare()
  else describeServer(server, 'makes a test fail', declare)
})
