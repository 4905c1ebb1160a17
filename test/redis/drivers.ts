import { Redis as Redis6 } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import type { RedisClient } from '../../adapters/redis/index.js'

export type DriverName = 'ioredis 5' | 'ioredis 6'
export const driverNames: readonly DriverName[] = ['ioredis 5', 'ioredis 6']

/** A client as a user has it, which never connects: sources and writers have connections of their own. */
export function userClient(driver: DriverName, port: number, options: object = {}): Redis5 | Redis6 {
  const all = { ...options, port, host: '127.0.0.1', lazyConnect: true }
  return driver === 'ioredis 5' ? new Redis5(all) : new Redis6(all)
}

/** The same client, the connections of which go to these ports in turn; before one sends such a command, something happens. */
export function steered(
  ports: readonly number[],
  happen: () => Promise<unknown> = async () => {},
  before = 'MULTI',
  options: object = {},
): RedisClient {
  const user = userClient('ioredis 6', ports[0] ?? 0, options)
  let made = 0
  const duplicate = (override: object): unknown => {
    const connection = user.duplicate({ ...override, port: ports[made++ % ports.length] } as object)
    let turn = Promise.resolve<unknown>(undefined)
    for (const way of ['call', 'callBuffer'] as const) {
      const send = connection[way].bind(connection) as (...command: readonly unknown[]) => Promise<unknown>
      const inTurn = async (...command: readonly unknown[]): Promise<unknown> => {
        turn = turn.then(() => (command[0] === before ? happen() : undefined))
        await turn
        return await send(...command)
      }
      Object.assign(connection, { [way]: inTurn })
    }
    return connection
  }
  return Object.assign(Object.create(user) as RedisClient, { duplicate })
}

/** A client, and how many bytes each answer had that came to its connections. */
export function measured(port: number): { readonly client: RedisClient; readonly answers: readonly number[] } {
  const user = userClient('ioredis 6', port)
  const answers: number[] = []
  const duplicate = (override: object): unknown => {
    const connection = user.duplicate(override)
    const send = connection.callBuffer.bind(connection) as (...command: readonly unknown[]) => Promise<unknown>
    const counted = async (...command: readonly unknown[]): Promise<unknown> => {
      const answer = await send(...command)
      answers.push(bytesIn(answer))
      return answer
    }
    return Object.assign(connection, { callBuffer: counted })
  }
  return { client: Object.assign(Object.create(user) as RedisClient, { duplicate }), answers }
}

function bytesIn(answer: unknown): number {
  if (Array.isArray(answer)) return answer.reduce((sum: number, each) => sum + bytesIn(each), 0)
  return Buffer.isBuffer(answer) ? answer.length : 0
}
