import { describe, expect, test } from 'vitest'
import { useEtcd } from '../etcd/support.js'
import { type Database, useServer } from '../postgres/support.js'
import { describeServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { listwatch, outputOf, refusalOf, resultOf, shell, urlOf } from './support.js'

function parsed(output: string): unknown[] {
  return Array.from(output.matchAll(/.+\n/g), ([line]) => JSON.parse(line))
}

describeServer('postgres 18', 'reading Postgres', useServer, (at) => {
  async function orders(count = 8): Promise<Database> {
    return await at.installed(
      `CREATE TABLE orders (id int PRIMARY KEY, tenant text, tags text[], note text);
      INSERT INTO orders SELECT g, CASE g % 4 WHEN 0 THEN 'acme' ELSE 'birch' END, ARRAY['a', 't' || g % 2] FROM generate_series(1, ${count}) g`,
      'orders',
    )
  }

  describe('get', () => {
    test('prints the object of a key as one line', async () => {
      const db = await orders()
      const output = await outputOf(listwatch(['get', urlOf(db), '--table', 'orders', '4']))
      expect(parsed(output)).toEqual([{ key: '4', object: { id: 4, tenant: 'acme', tags: ['a', 't0'], note: null } }])
    })

    test('--fields selects fields', async () => {
      const db = await orders()
      const args = ['get', urlOf(db), '--table', 'orders', '4', '--fields', 'tenant,tags']
      const { output } = await resultOf(listwatch(args))
      expect(parsed(output)).toEqual([{ key: '4', object: { tenant: 'acme', tags: ['a', 't0'] } }])
    })

    test('of a key that does not exist prints one line as an error: exit code 1', async () => {
      const db = await orders()
      expect(await resultOf(listwatch(['get', urlOf(db), '--table', 'orders', '9']))).toEqual({
        code: 1,
        output: '',
        errors: 'listwatch: orders has no object with the key "9"\n',
      })
    })
  })

  describe('list', () => {
    test('prints all objects as lines of JSON; --limit and --sql reduce them', async () => {
      const db = await orders()
      const list = async (...args: string[]): Promise<unknown[]> =>
        parsed(await outputOf(listwatch(['list', urlOf(db), '--table', 'orders', ...args])))
      const all = await list('--fields', 'id')
      expect(all).toHaveLength(8)
      expect(all).toContainEqual({ key: '3', object: { id: 3 } })
      expect(await list('--limit', '3')).toHaveLength(3)
      expect(await list('--sql', 'id > 6', '--columns', 'id')).toEqual([
        { key: '7', object: { id: 7 } },
        { key: '8', object: { id: 8 } },
      ])
    })

    test('a closed pipe ends it silently, after the first lines', async () => {
      const db = await orders(50_000)
      const command = `listwatch list ${urlOf(db)} --table orders | head -2; echo "\${PIPESTATUS[0]}"`
      const { output, errors } = await resultOf(shell(command))
      expect([errors, output.split('\n').slice(2)]).toEqual(['', ['0', '']])
    })

    test('SIGINT before the list is complete: exit code 130, and no object', async () => {
      const db = await orders()
      const blocker = await db.connect()
      await blocker.query('BEGIN; LOCK TABLE orders')
      const child = listwatch(['list', urlOf(db), '--table', 'orders'])
      const waiting = `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'listwatch' AND wait_event_type = 'Lock'`
      await waitUntil('the list to wait', async () => (await db.value(waiting)) === '1')
      child.kill('SIGINT')
      expect(await resultOf(child)).toEqual({ code: 130, output: '', errors: '' })
    })
  })

  describe('query', () => {
    const keys = async (db: Database, ...where: string[]): Promise<string[]> => {
      const args = where.flatMap((each) => (each.startsWith('--') ? [each] : ['--where', each]))
      const { output } = await resultOf(listwatch(['query', urlOf(db), '--table', 'orders', ...args]))
      return output.split('\n').flatMap((line) => /"key":"(\d+)"/.exec(line)?.[1] ?? [])
    }

    test('prints the objects that meet all conditions; an element of an array is a value', async () => {
      const db = await orders()
      expect(await keys(db, 'tenant=acme')).toEqual(['4', '8'])
      expect(await keys(db, 'tags=t1')).toEqual(['1', '3', '5', '7'])
      expect(await keys(db, 'tags=t1', 'id!=3', 'tenant!=acme')).toEqual(['1', '5', '7'])
      expect(await keys(db, 'note=null')).toEqual([])
      expect(await keys(db, 'note!=x', 'id=2')).toEqual(['2'])
      expect(await keys(db, 'tags=t1', '--sql=id > 4')).toEqual(['5', '7'])
    })

    test('a wrong condition, a missing one, and a column that does not exist are refused', async () => {
      const db = await orders()
      const refusal = (...args: string[]): Promise<string> =>
        refusalOf(listwatch(['query', urlOf(db), '--table', 'orders', ...args]))
      expect(await refusal('--where', 'tenant')).toContain('It must look like status=open or status!=open')
      expect(await refusal('--where', "tenant = 'acme'")).toContain('It is not SQL: it must look like status=open')
      expect(await refusal('--where', "tenant='acme'")).toContain('It is not SQL')
      const list = listwatch(['list', urlOf(db), '--table', 'orders', '--sql', 'tenant=acme'])
      expect(await refusalOf(list)).toContain("it is SQL, such as status = 'open'; listwatch query compares fields")
      expect(await refusal()).toContain("required option '--where <field=value>' not specified")
      expect(await refusal('--where', 'tennant=acme')).toBe(
        '--where: orders has no column "tennant"; it has id, tenant, tags, note',
      )
    })

    test('a field may be a path into a column of JSON', async () => {
      const db = await at.installed(
        `CREATE TABLE orders (id int PRIMARY KEY, doc jsonb, "doc.color" text);
        INSERT INTO orders SELECT i, jsonb_build_object('size', i % 2), 'red' FROM generate_series(1, 4) i`,
        'orders',
      )
      expect(await keys(db, 'doc.size=1')).toEqual(['1', '3'])
      expect(await keys(db, 'doc.size=1', 'id!=3', 'doc.color=red')).toEqual(['1'])
    })
  })
})

describeServer('etcd 3.6', 'reading etcd', useEtcd, (own) => {
  test('a value that cannot be decoded is reported, and the others are printed: exit code 1', async () => {
    const client = own.etcd.client()
    await client.put('/odd/1').value('1')
    await client.put('/odd/2').value('notjson')
    const url = `etcd://${own.etcd.endpoint}`
    const { code, output, errors } = await resultOf(listwatch(['list', url, '--prefix', '/odd/']))
    expect(parsed(output)).toEqual([{ key: '/odd/1', object: 1 }])
    expect(errors).toMatch(/^listwatch: .*\/odd\/2.*\n$/)
    expect(code).toBe(1)
    const text = await resultOf(listwatch(['get', url, '--prefix', '/odd/', '--codec', 'string', '/odd/2']))
    expect(parsed(text.output)).toEqual([{ key: '/odd/2', object: 'notjson' }])
  })

  test('a field that no object has: a hint names those that there are, and the exit code is 0', async () => {
    await own.etcd.client().put('/jobs/1').value('{"state":"new","n":1}')
    await own.etcd.client().put('/jobs/2').value('7')
    const args = [`etcd://${own.etcd.endpoint}`, '--prefix', '/jobs/']
    const none = 'listwatch: none of 2 objects meets the conditions\n'
    const misspelt = 'listwatch: no object has the field "stat"; the first one has state, n\n'
    expect(await resultOf(listwatch(['query', ...args, '--where', 'stat=new']))).toEqual({
      code: 0,
      output: '',
      errors: `${none}${misspelt}`,
    })
    const listed = await resultOf(listwatch(['list', ...args, '--fields', 'stat,n', '--limit', '1']))
    expect(listed).toEqual({ code: 0, output: '{"key":"/jobs/1","object":{"n":1}}\n', errors: misspelt })
    // Other objects have it.
    expect((await resultOf(listwatch(['query', ...args, '--where', 'state=old', '--fields', 'n']))).errors).toBe(none)
  })
})
