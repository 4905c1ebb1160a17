import { Redis as Redis6 } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'

/** The versions of the driver that users bring. */
export type DriverName = 'ioredis 5' | 'ioredis 6'
export const driverNames: readonly DriverName[] = ['ioredis 5', 'ioredis 6']

/** A client as a user has it, which never connects: sources and writers have connections of their own. */
export function userClient(driver: DriverName, port: number, options: object = {}): Redis5 | Redis6 {
  const all = { ...options, port, host: '127.0.0.1', lazyConnect: true }
  return driver === 'ioredis 5' ? new Redis5(all) : new Redis6(all)
}
