import type { KubeConfig } from '@kubernetes/client-node'
import { kubernetesSource } from '../../adapters/kubernetes/index.js'
import type { ListContext, ListerWatcher, ListPage, WatchBatch, WatchContext } from '../../src/contract/source.js'
import type { KubeObject } from '../servers/kube-client.js'

/** A source that, like many a program, watches from now on when its watch has broken: what happened meanwhile is lost. */
export function forgetfulSource(
  kubeConfig: KubeConfig | (() => KubeConfig),
  namespace: string,
): ListerWatcher<KubeObject> {
  const source = kubernetesSource<KubeObject>({ kubeConfig, kind: 'ConfigMap', namespace })
  let isFirst = true
  return {
    name: source.name,
    heartbeatMs: source.heartbeatMs,
    list: (context: ListContext): AsyncIterable<ListPage<KubeObject>> => {
      isFirst = true
      return source.list(context)
    },
    async *watch(context: WatchContext): AsyncIterable<WatchBatch<KubeObject>> {
      const after = isFirst ? context.after : await source.head(context)
      isFirst = false
      yield* source.watch({ ...context, after })
    },
  }
}
