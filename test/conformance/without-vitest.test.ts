import { spawnSync } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureBuilt } from '../support/build.js'
import { root } from '../support/sources.js'

let folder = ''

/** A project that has the package, and no vitest. */
beforeAll(async () => {
  await ensureBuilt()
  folder = await mkdtemp(join(tmpdir(), 'listwatch-without-vitest-'))
  const modules = join(folder, 'node_modules')
  for (const part of ['package.json', 'dist'])
    await cp(join(root, part), join(modules, 'listwatch', part), { recursive: true })
  await cp(join(root, 'node_modules/eventemitter3'), join(modules, 'eventemitter3'), { recursive: true })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

function outputOf(program: string): string {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: folder,
    encoding: 'utf8',
  })
  return stdout + stderr
}

test('listwatch/testing needs no vitest', () => {
  const program = `
    import { conformanceCases, memorySource, VirtualClock } from 'listwatch/testing'
    console.log(new VirtualClock(7).now(), memorySource().name, conformanceCases.length > 30)`
  expect(outputOf(program)).toBe('7 memory true\n')
})

test('describeListerWatcher says that it needs vitest', () => {
  const program = `
    import { describeListerWatcher } from 'listwatch/testing'
    await describeListerWatcher('x', { create() {} }).catch((error) => console.log(error.message))`
  expect(outputOf(program)).toBe('describeListerWatcher needs vitest 3.2 or later: npm i -D vitest\n')
})

test('etcdSource with endpoints says that it needs @grpc/grpc-js, and synced() rejects', () => {
  const program = `
    import { createInformer } from 'listwatch'
    import { etcdSource } from 'listwatch/etcd'
    const mirror = createInformer({ source: etcdSource({ endpoints: 'localhost:2379', prefix: '/p/' }) })
    await mirror.start().synced().catch(({ name, option, message }) => console.log(name, option, message))
    console.log(mirror.status.state)
    await mirror.stop()`
  const says = 'etcdSource: option "endpoints" needs the package @grpc/grpc-js: npm i @grpc/grpc-js'
  expect(outputOf(program)).toContain(`OptionError endpoints ${says}\nfailed\n`)
})
