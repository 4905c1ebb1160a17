import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../../src/cli/platform.js'
import { describeServer } from '../../servers/index.js'
import { mutated } from '../../simulation/mutants/mutate.js'
import { Child } from '../../support/child.js'
import { root } from '../../support/sources.js'
import { type EtcdMutant, mutants } from './index.js'

/** All of them take some minutes: LISTWATCH_ETCD_MUTANTS=all, or a part of a name. */
const WANTED = process.env['LISTWATCH_ETCD_MUTANTS'] ?? ''

test.each(mutants.map((mutant) => [mutant.name, mutant] as const))('"%s" can be made', (_name, mutant) => {
  expect(() => mutated(mutant)).not.toThrow()
})

test('every mutant has a name of its own', () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
})

interface Report {
  readonly numFailedTests: number
  readonly numPassedTests: number
}

async function judged(mutant: EtcdMutant): Promise<Report> {
  const { name, test: file, named, server = '3.6' } = mutant
  const config = join('test', 'etcd', 'mutants', 'vitest.config.ts')
  const pattern = server === 'none' ? named : `etcd ${server.replace('.', '\\.')} .*${named}`
  const folder = await temporaryFolder('listwatch-mutant-')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const outputFile = join(folder, 'report.json')
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--config', config, '-t', pattern]
  const child = new Child(
    process.execPath,
    [...args, '--reporter=json', '--outputFile', outputFile, join('test', file)],
    {
      cwd: root,
      env: { ...process.env, LISTWATCH_ETCD_MUTANT: name, VITEST: undefined, VITEST_WORKER_ID: undefined },
    },
  )
  onTestFinished(() => child[Symbol.asyncDispose]())
  await child.ended
  const report = await readFile(outputFile, 'utf8').catch(() => {
    throw new Error(`no report: ${child.output.slice(-500)} ${child.errors.slice(-500)}`)
  })
  const judgement = JSON.parse(report) as Report
  process.stdout.write(`${name}: ${judgement.numFailedTests} failed, ${judgement.numPassedTests} passed\n`)
  return judgement
}

const wanted = mutants.filter(({ name }) => WANTED === 'all' || (WANTED !== '' && name.includes(WANTED)))

describe.skipIf(wanted.length === 0)('a defect of the adapter', () => {
  describeServer('etcd 3.4', 'and', () => {
    describeServer('etcd 3.6', 'make a test fail', () => {
      test.each(wanted.map((mutant) => [mutant.name, mutant] as const))(
        'that %s',
        async (_name, mutant) => {
          const { numFailedTests, numPassedTests } = await judged(mutant)
          expect(numFailedTests, `${numPassedTests} passed`).toBeGreaterThan(0)
        },
        240_000,
      )
    })
  })
})
