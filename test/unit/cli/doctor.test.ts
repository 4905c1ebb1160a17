import { describe, expect, test } from 'vitest'
import { type CheckProgress, runChecks } from '../../../cli/doctor/check.js'
import { etcdChecks } from '../../../cli/doctor/etcd.js'
import { kubernetesChecks } from '../../../cli/doctor/kubernetes.js'
import { postgresChecks } from '../../../cli/doctor/postgres.js'
import { redisChecks } from '../../../cli/doctor/redis.js'
import { filesUnder, textOf } from '../../support/sources.js'

const checks: Readonly<Record<string, readonly { readonly name: string; readonly severity: string }[]>> = {
  Postgres: postgresChecks,
  Redis: redisChecks,
  etcd: etcdChecks,
  Kubernetes: kubernetesChecks,
}

describe.each(Object.entries(checks))('the checks of %s', (title, listed) => {
  test('are those of the table in docs/how-to/doctor.md, in its order', () => {
    const [, section = ''] = textOf('docs/how-to/doctor.md').split(new RegExp(`^## ${title}$`, 'm'))
    const rows = Array.from(
      (section.split(/^## /m)[0] ?? '').matchAll(/^\| `([\w-]+)` \| (\w+) \|/gm),
      ([, ...cells]) => cells,
    )
    expect(listed.map(({ name, severity }) => [name, severity])).toEqual(rows)
  })

  test('are each broken by a test', () => {
    const path = `test/cli/doctor-${title.toLowerCase()}.test.ts`
    expect(filesUnder(['test/cli'], '.ts')).toContain(path)
    const text = textOf(path)
    expect(listed.map(({ name }) => name).filter((name) => !text.includes(`'${name}'`))).toEqual([])
  })
})

test('a check that fails is unknown, and the others run', async () => {
  const failing = { name: 'first', severity: 'error', find: () => Promise.reject(new Error('no\nright')) } as const
  const finding = { problem: 'it is broken', remedy: 'repair it' }
  const working = { name: 'second', severity: 'warning', find: () => Promise.resolve(finding) } as const
  const silent = { name: 'third', severity: 'error', find: () => Promise.resolve(undefined) } as const
  expect(await runChecks([failing, working, silent], undefined, { onProgress: () => {} })).toEqual({
    checks: 3,
    findings: [
      { name: 'first', severity: 'unknown', problem: 'it could not be checked: no right' },
      { name: 'second', severity: 'warning', ...finding },
    ],
  })
})

test('several checks run at a time, except one that measures time, and findings keep their order', async () => {
  const running = new Set<string>()
  const beside: Record<string, string[]> = {}
  const check = (name: string, more: { readonly runsAlone?: true } = {}) => ({
    name,
    severity: 'warning' as const,
    ...more,
    async find() {
      running.add(name)
      await new Promise((resolve) => setImmediate(resolve))
      beside[name] = [...running]
      running.delete(name)
      return { problem: name, remedy: 'none' }
    },
  })
  const checks = [check('first'), check('second'), check('measured', { runsAlone: true }), check('last')]
  const lines: string[] = []
  const onProgress = ({ done, running }: CheckProgress): number => lines.push(`${done} ${running.join(' ')}`)
  const { findings } = await runChecks(checks, undefined, { onProgress, atOnce: 2 })
  expect(beside).toEqual({
    measured: ['measured'],
    first: ['first', 'second'],
    second: ['second', 'last'],
    last: ['last'],
  })
  expect(findings.map(({ name }) => name)).toEqual(['first', 'second', 'measured', 'last'])
  expect(lines).toEqual(['0 measured', '1 first', '1 first second', '2 second', '2 second last', '3 last'])
})
