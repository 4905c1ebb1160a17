import { Redis as Redis6 } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import type { RedisClient } from '../../adapters/redis/index.js'

/** The versions of the driver that users bring. */
export type DriverName = 'ioredis 5' | 'ioredis 6'
export const driverNames: readonly DriverName[] = ['ioredis 5', 'ioredis 6']

/** A client as a user has it, which never connects: sources and writers have connections of their own. */
export function userClient(driver: DriverName, port: number, options: object = {}): Redis5 | Redis6 {
  const all = { ...options, port, host: '127.0.0.1', lazyConnect: true }
  return driver === 'ioredis 5' ? new Redis5(all) : new Redis6(all)
}

/** The same client, the connections of which go to these ports in turn; before one sends a MULTI, something happens. */
export function steered(ports: readonly number[], beforeMulti: () => Promise<unknown> = async () => {}): RedisClient {
  const user = userClient('ioredis 6', ports[0] ?? 0)
  let made = 0
  const duplicate = (override: object): unknown => {
    const connection = user.duplicate({ ...override, port: ports[made++ % ports.length] } as object)
    const send = connection.callBuffer.bind(connection) as (...command: readonly unknown[]) => Promise<unknown>
    let turn = Promise.resolve<unknown>(undefined)
    const inTurn = async (...command: readonly unknown[]): Promise<unknown> => {
      turn = turn.then(() => (command[0] === 'MULTI' ? beforeMulti() : undefined))
      await turn
      return await send(...command)
    }
    return Object.assign(connection, { callBuffer: inTurn })
  }
  return Object.assign(Object.create(user) as RedisClient, { duplicate })
}
