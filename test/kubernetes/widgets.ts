import type { Kubernetes } from '../servers/kubernetes.js'
import { succeeds, waitUntil } from '../servers/wait-until.js'
import type { Resource } from './stage.js'

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const NAME = 'widgets.example.com'

export const WIDGETS: Resource = {
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  plural: 'widgets',
  draft: (name, n) => ({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name, labels: { half: String(Math.abs(n) % 2) } },
    spec: { n },
  }),
}

/** Makes the server serve them; they are served when this resolves. */
export async function createWidgets({ admin }: Kubernetes, subresources: object = {}): Promise<void> {
  await admin.create(CRDS, {
    metadata: { name: NAME },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          subresources,
        },
      ],
    },
  })
  await waitUntil('widgets to be served', () => succeeds(admin.list('/apis/example.com/v1/widgets')))
}

/** What the server knows of the `spec` of widgets: everything else is pruned from its objects. It does so when this resolves. */
export async function setSpecOfWidgets(kubernetes: Kubernetes, properties: object): Promise<void> {
  const { admin } = kubernetes
  await patchSpecOfWidgets(kubernetes, properties)
  const wanted = Object.keys(properties).sort().join()
  const isSo = async (): Promise<boolean> => {
    const { components } = Object(await admin.call('GET', '/openapi/v3/apis/example.com/v1').catch(() => {})) as OpenApi
    const all = Object.keys(components?.schemas?.['com.example.v1.Widget']?.properties?.spec?.properties ?? {})
    return all.sort().join() === wanted
  }
  await waitUntil('the schema to be published', isSo, 60_000)
}

/** The same, without waiting for the server. */
export async function patchSpecOfWidgets({ admin }: Kubernetes, properties: object): Promise<void> {
  const schema = { type: 'object', properties: { spec: { type: 'object', properties } } }
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }]
  await admin.patch(`${CRDS}/${NAME}`, { spec: { versions } })
}

interface OpenApi {
  readonly components?: {
    readonly schemas?: Readonly<
      Record<string, { readonly properties?: { readonly spec?: { readonly properties?: object } } }>
    >
  }
}

/** With all there are of them; none are served when this resolves. */
export async function deleteWidgets({ admin }: Kubernetes): Promise<void> {
  await admin.delete(`${CRDS}/${NAME}`)
  await waitUntil('widgets to be gone', async () => !(await succeeds(admin.list('/apis/example.com/v1/widgets'))))
}
