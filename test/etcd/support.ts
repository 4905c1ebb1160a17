import { afterAll, beforeAll } from 'vitest'
import { EtcdServer } from '../servers/etcd.js'
import type { FoundServer } from '../servers/index.js'

/** One etcd for the tests of a file or a group, started before the first and gone after the last. */
export function useEtcd(server: FoundServer, args: readonly string[] = []): { readonly etcd: EtcdServer } {
  let started: EtcdServer | undefined
  beforeAll(async () => {
    started = await EtcdServer.start({ server, args })
  })
  afterAll(async () => {
    await started?.[Symbol.asyncDispose]()
  })
  return {
    get etcd() {
      if (started === undefined) throw new Error('the server is not up yet')
      return started
    },
  }
}
