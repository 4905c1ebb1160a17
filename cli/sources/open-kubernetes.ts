import type { KubeConfig } from '@kubernetes/client-node'
import { type KubernetesSourceOptions, kubernetesSource } from '../../adapters/kubernetes/index.js'
import { messageOf } from '../../src/contract/errors.js'
import { CliError, loadPackage } from '../output/cli-error.js'
import { resolveResource } from './resolve-resource.js'
import type { OpenSource, Row, SourceOptions } from './source-types.js'

const PACKAGE = '@kubernetes/client-node'
const USAGE =
  'it should look like kubernetes://default/pods, kubernetes://*/pods for all namespaces, or kubernetes://*/nodes for a resource without namespaces'

export async function openKubernetes(url: string, flags: SourceOptions): Promise<OpenSource> {
  const { namespace, resource } = addressOf(url)
  const kubeConfig = await loadConfig(flags.context)
  const { selector: labelSelector, fieldSelector, metadataOnly } = flags
  const choice = await resolveResource(kubeConfig, resource, namespace)
  const options: KubernetesSourceOptions = { kubeConfig, ...choice, namespace, labelSelector, fieldSelector }
  const source = kubernetesSource<Row>(metadataOnly === true ? { ...options, metadataOnly } : options)
  return {
    source,
    kind: 'kubernetes',
    of: source.name,
    toCliError: ({ message }) => new CliError(adviceOf(message)),
    message: adviceOf,
    [Symbol.dispose]: () => {},
  }
}

/** `kubernetes://namespace/resource` */
export function addressOf(url: string): { readonly namespace: string | undefined; readonly resource: string } {
  const match = /^kubernetes:\/\/([^/?#]*)\/([^/?#]+)\/?$/.exec(url)
  if (match === null) throw new CliError(`invalid URL of a resource; ${USAGE}`)
  const [, namespace = '', resource = ''] = match.map((part) => part.trim())
  if (namespace === '' || namespace === '*') return { namespace: undefined, resource }
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)) return { namespace, resource }
  // It may be a password, so the message does not repeat it.
  if (/[:@]/.test(namespace)) throw new CliError(`invalid URL of a resource; ${USAGE}`)
  throw new CliError(`"${namespace}" is not a valid namespace: small letters, digits and "-", at most 63; ${USAGE}`)
}

/** Loads the kubeconfig like kubectl, or a pod's service account. */
export async function loadConfig(context: string | undefined): Promise<KubeConfig> {
  const client = await loadClient()
  const config = new client.KubeConfig()
  try {
    config.loadFromDefault()
  } catch (error) {
    throw new CliError(`the kubeconfig cannot be read: ${messageOf(error)}; check KUBECONFIG and ~/.kube/config`)
  }
  // The package returns this configuration if it has found none.
  if (config.getCurrentContext() === 'loaded-context' && config.getCurrentCluster()?.server === 'http://localhost:8080')
    throw new CliError('no kubeconfig was found; set KUBECONFIG, or put one at ~/.kube/config')
  if (context !== undefined) {
    const names = config.getContexts().map(({ name }) => name)
    if (!names.includes(context))
      throw new CliError(`--context: there is no "${context}"; there are ${names.join(', ')}`)
    config.setCurrentContext(context)
  }
  return config
}

async function loadClient(): Promise<typeof import('@kubernetes/client-node')> {
  try {
    return await loadPackage(PACKAGE, () => import('@kubernetes/client-node'))
  } catch (error) {
    if (error instanceof CliError) throw error
    throw new CliError(`${PACKAGE} cannot be loaded: ${messageOf(error)}; its version 2 needs Node 22.19 or later`)
  }
}

/** Replaces names of the adapter's options by those of the command line. */
function adviceOf(message: string): string {
  return message
    .replace('check labelSelector:', 'check --selector:')
    .replace('fieldSelector:', '--field-selector:')
    .replace(/^(\S+) are in no namespace \(leave out namespace: [^)]*\)/, '$1 are in no namespace: kubernetes://*/$1')
}
