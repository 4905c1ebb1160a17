import { EtcdServer } from '../servers/etcd.js'
import type { FoundServer } from '../servers/index.js'
import { startForTests } from '../support/start-for-tests.js'

/** One etcd for the tests of a file or a group, started before the first and gone after the last. */
export function useEtcd(server: FoundServer, args: readonly string[] = []): { readonly etcd: EtcdServer } {
  const started = startForTests(() => EtcdServer.start({ server, args }))
  return {
    get etcd() {
      return started()
    },
  }
}
