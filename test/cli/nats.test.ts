import { setTimeout as sleep } from 'node:timers/promises'
import { Kvm } from '@nats-io/kv'
import { describe, expect, test } from 'vitest'
import { useEtcd } from '../etcd/support.js'
import { useNats } from '../nats/support.js'
import { describeServer } from '../servers/index.js'
import type { Child } from '../support/child.js'
import { findings, namesOf } from './doctor.js'
import {
  type CommandOptions,
  deleted,
  expectEnd,
  listwatch,
  outputOf,
  refusalOf,
  resultOf,
  SECRET,
  synced,
} from './support.js'

describeServer('nats 2.15', 'relay --to nats://', (found) => {
  const own = useNats(found, `authorization { users: [{ user: "relay", password: "${SECRET}" }] }`, {
    user: 'relay',
    pass: SECRET,
  })
  const urlOf = (login = `relay:${SECRET}@`): string => `nats://${login}127.0.0.1:${own.nats.port}`

  describeServer('etcd 3.6', 'from etcd', useEtcd, (upstream) => {
    const relay = (name: string, options: CommandOptions): Child => {
      const source = [`etcd://${upstream.etcd.endpoint}`, '--prefix', `/${name}/`]
      return listwatch(['relay', ...source, '--to', urlOf(), '--as', name], options)
    }
    /** The watch has listed once, and all three have printed no error when they end. */
    const expectCalm = async (first: Child, second: Child, watch: Child): Promise<void> => {
      expect(watch.output.match(/"synced"/g)).toHaveLength(1)
      for (const child of [second, watch]) await expectEnd(child, 'SIGINT')
      expect(`${first.errors}${second.errors}${watch.errors}`).toBe('')
    }
    const isLive = (child: Child): boolean => child.lines.some((line) => line.includes('"state":"live"'))

    test.concurrent('publishes the keys, continues after a restart, and watch and list read the relay', async (context) => {
      const client = upstream.etcd.client()
      await client.put('/jobs/1').value('{"state":"new"}')
      const first = relay('jobs', context)
      await first.until(() => isLive(first), 'the first relay to be live')
      const watch = listwatch(['watch', urlOf(), '--relay', 'jobs', '--json'], context)
      await watch.until(() => watch.output.includes('"synced"'), 'the first list of the follower')
      await client.put('/jobs/1').value('{"state":"done"}')
      await watch.until(() => watch.output.includes('"update"'), 'the update in the follower')
      first.kill('SIGINT')
      await first.ended
      await client.put('/jobs/2').value('{"state":"new"}')
      const second = relay('jobs', context)
      await watch.until(() => watch.output.includes('/jobs/2'), 'the change during the restart')
      const list = await outputOf(listwatch(['list', urlOf(), '--relay', 'jobs'], context))
      const [done, waiting] = [
        '{"key":"/jobs/1","object":{"state":"done"}}',
        '{"key":"/jobs/2","object":{"state":"new"}}',
      ]
      expect(list.split('\n').sort()).toEqual(['', done, waiting])
      await expectCalm(first, second, watch)
    })

    test.concurrent('[Y6] of two relays the second waits, and replaces the first after it was killed', async (context) => {
      const client = upstream.etcd.client()
      await client.put('/two/3').value('{"state":"new"}')
      const first = relay('two', context)
      await first.until(() => isLive(first), 'the first relay to be live')
      const second = relay('two', context)
      await second.until(() => second.output.includes('"state":"standby"'), 'the second relay to wait')
      const watch = listwatch(['watch', urlOf(), '--relay', 'two', '--json'], context)
      await watch.until(() => watch.output.includes('"synced"'), 'the first list of the follower')
      // Longer than a lease: relays without leases would replace each other.
      await sleep(15_000)
      expect(isLive(second)).toBe(false)
      await client.put('/two/3').value('{"state":"running"}')
      await watch.until(() => watch.output.includes('running'), 'the change in the follower')
      first.kill('SIGKILL')
      await first.ended
      await client.put('/two/3').value('{"state":"done"}')
      await second.until(() => isLive(second), 'the second relay to write')
      await watch.until(() => watch.output.includes('done'), 'the change after the kill')
      await expectCalm(first, second, watch)
    })

    test.each([
      ['no name that NATS allows', [], 'choose another one by --as'],
      ['the retention of Redis', ['--as', 'jobs', '--retention', '10'], '--retention is an option of Redis'],
    ])('refuses %s', async (_what, args, says) => {
      const source = [`etcd://${upstream.etcd.endpoint}`, '--prefix', '/jobs/']
      expect(await refusalOf(listwatch(['relay', ...source, '--to', urlOf(), ...args]))).toContain(says)
    })
  })

  describe('commands that read', () => {
    const refused: readonly (readonly [what: string, args: () => readonly string[], says: string])[] = [
      ['no bucket', () => ['list', urlOf()], 'name the bucket to mirror: --bucket limits, or --relay orders'],
      ['a bucket and a relay', () => ['list', urlOf(), '--bucket', 'a', '--relay', 'a'], 'mirror one of these'],
      [
        'a filter of a relay',
        () => ['list', urlOf(), '--relay', 'a', '--subjects', 'a'],
        '--subjects and --codec need',
      ],
      ['a bucket that does not exist', () => ['list', urlOf(), '--bucket', 'none'], 'there is no bucket "none"'],
      ['a name that no bucket has', () => ['list', urlOf(), '--relay', 'a.b'], 'choose another one by --relay'],
      [
        'a relay that has not written',
        () => ['list', urlOf(), '--relay', 'none'],
        'no relay has written to nats:relay-none yet: start listwatch relay, check the name, or wait: a new relay begins after about 9 s',
      ],
      [
        'a prefix',
        () => ['list', urlOf(), '--prefix', 'a'],
        '--prefix is an option of etcd; NATS has --bucket, --subjects, --relay, --codec',
      ],
      ['no server', () => ['list', 'nats://127.0.0.1:1', '--relay', 'a'], 'cannot connect to nats://127.0.0.1:1'],
      [
        'a wrong password',
        () => ['list', urlOf(`other:${SECRET}@`), '--relay', 'a'],
        'give user and password, or a token',
      ],
      ['no URL', () => ['list', 'nats://', '--relay', 'a'], 'it should look like nats://host:4222'],
    ]
    test.each(refused)('refuse %s', async (_what, args, says) => {
      expect(await refusalOf(listwatch(args()))).toContain(says)
    })

    test.concurrent('watch, list, get, query, verify and relay read a bucket', async (context) => {
      const bucket = await new Kvm(await own.nats.connect()).create('limits')
      await bucket.put('jobs.1', '{"state":"new"}')
      await bucket.put('other', '{"state":"new"}')
      const source = [urlOf(), '--bucket', 'limits']
      const read = (command: string, ...args: readonly string[]): Promise<string> =>
        outputOf(listwatch([command, ...source, ...args], context))
      const job = '{"key":"jobs.1","object":{"state":"new"}}\n'
      expect(await read('list', '--subjects', 'jobs.*,tasks.>')).toBe(job)
      expect(await read('get', 'jobs.1')).toBe(job)
      expect((await read('query', '--where', 'state=new')).split('\n')).toHaveLength(3)
      expect(await read('verify', '--for', '1ms')).toBe('2 keys compared, 0 differ\n')
      const watch = listwatch(['watch', ...source, '--json'], context)
      await synced(watch)
      const relay = listwatch(['relay', ...source, '--to', urlOf()], context)
      await relay.until(() => relay.output.includes('"state":"live"'), 'the relay')
      await bucket.delete('other')
      await deleted(watch)
      expect((await resultOf(listwatch(['list', urlOf(), '--relay', 'limits'], context))).output).toContain('jobs.1')
      for (const child of [watch, relay]) child.kill('SIGINT')
      await Promise.all([watch.ended, relay.ended])
      expect(`${watch.errors}${relay.errors}`).toBe('')
    })
  })
  test('doctor reports the problems of a bucket', async () => {
    const kvm = new Kvm(await own.nats.connect())
    const check = (name: string, ...args: readonly string[]): Promise<readonly string[]> =>
      namesOf([urlOf(), '--bucket', name, ...args])
    const healthy = await kvm.create('healthy')
    await healthy.put('a', '1')
    expect(await check('healthy')).toEqual([])
    await healthy.put('b', 'no JSON')
    expect((await findings([urlOf(), '--bucket', 'healthy'])).get('undecodable')?.problem).toMatch(/lacks 1 of .*"b"/)
    expect(await check('healthy', '--codec', 'string')).toEqual([])
    const limits = { storage: 'memory', max_bytes: 1_000, max_msgs_per_subject: 1, allow_direct: true }
    await own.nats.ask('STREAM.CREATE.KV_full', {
      name: 'KV_full',
      subjects: ['$KV.full.>'],
      discard: 'new',
      ...limits,
    })
    const full = await kvm.open('full')
    await full.put('a', JSON.stringify('x'.repeat(900)))
    expect(await check('full')).toEqual(['storage', 'size'])
    expect((await findings([urlOf(), '--bucket', 'none'])).get('list')?.problem).toContain('there is no bucket "none"')
    expect((await findings([urlOf(), '--relay', 'none'])).get('list')?.problem).toContain('start listwatch relay')
  })
})
