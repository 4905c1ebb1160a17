import { type ApiSession, apiStatusIn } from '../../adapters/kubernetes/internal.js'
import { formatDuration } from '../args/duration.js'
import { fieldOf, listIn } from '../args/fields.js'
import { CliError } from '../output/cli-error.js'
import type { ResourceChoice } from '../sources/resolve-resource.js'
import { type Check, warningCheck } from './check.js'

const SLOW_MS = 500
/** A webhook that may take longer until the write fails causes a warning, in seconds. The server's default is 10. */
const LONG_SECONDS = 5

const GROUP = '/apis/admissionregistration.k8s.io/v1'
const KINDS = ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations']

export interface WebhooksContext {
  readonly session: ApiSession
  /** Those that are called for writes of the resource; requested once. */
  webhooks(): Promise<readonly Webhook[]>
}

export interface Webhook {
  readonly name: string
  /** How `kubectl` names its configuration: `validatingwebhookconfiguration policy`. */
  readonly configuration: string
  readonly position: number
  readonly timeoutSeconds: number
  /** Whether a write fails if the webhook cannot be called. */
  readonly isRequired: boolean
}

/** Webhooks delay the writes of the resource, and so its controllers; lists and watches do not call them. */
export const webhookChecks: readonly Check<WebhooksContext>[] = [
  warningCheck('webhook-latency', async ({ session, webhooks }) => {
    const all = await webhooks()
    const means = all.length === 0 ? new Map<string, number>() : await meanDurations(session)
    const slow = all
      .map((webhook) => ({ ...webhook, meanMs: means.get(webhook.name) ?? 0 }))
      .sort((a, b) => b.meanMs - a.meanMs)[0]
    if (slow === undefined || slow.meanMs <= SLOW_MS) return undefined
    const { name, configuration, meanMs } = slow
    return {
      problem: `each write waits ${formatDuration(meanMs)} on average for the webhook ${name}`,
      remedy: `see the service or URL of its server: kubectl get ${configuration} -o yaml`,
    }
  }),
  warningCheck('webhook-timeout', async ({ webhooks }) => {
    const strict = (await webhooks()).find(
      ({ isRequired, timeoutSeconds }) => isRequired && timeoutSeconds > LONG_SECONDS,
    )
    if (strict === undefined) return undefined
    const { name, configuration, position, timeoutSeconds } = strict
    const patch = [{ op: 'add', path: `/webhooks/${position}/timeoutSeconds`, value: LONG_SECONDS }]
    return {
      problem: `each write waits ${timeoutSeconds} s and then fails, while the server of the webhook ${name} does not answer`,
      remedy: `run: kubectl patch ${configuration} --type=json -p '${JSON.stringify(patch)}', or set failurePolicy to Ignore`,
    }
  }),
]

/** Returns none if the user may not see them: few users may. */
export async function webhooksOf(
  session: ApiSession,
  namespace: string | undefined,
  resource: ResourceChoice | CliError,
): Promise<readonly Webhook[]> {
  if (resource instanceof CliError) return []
  const found: Webhook[] = []
  for (const kind of KINDS)
    for (const configuration of listIn(
      await visible(session.json({ verb: 'list', path: `${GROUP}/${kind}` })),
      'items',
    ))
      for (const [position, webhook] of listIn(configuration, 'webhooks').entries()) {
        if (!listIn(webhook, 'rules').some((rule) => isRuleFor(resource, rule))) continue
        if (!(await selects(session, fieldOf(webhook, 'namespaceSelector'), namespace))) continue
        found.push({
          name: String(fieldOf(webhook, 'name')),
          configuration: `${kind.slice(0, -1)} ${String(fieldOf(configuration, 'metadata.name'))}`,
          position,
          timeoutSeconds: Number(fieldOf(webhook, 'timeoutSeconds')),
          isRequired: fieldOf(webhook, 'failurePolicy') === 'Fail',
        })
      }
  return found
}

/** The versions of a rule do not matter: by default the server converts the object to one of them. */
function isRuleFor({ apiVersion, plural }: ResourceChoice, rule: unknown): boolean {
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : ''
  const [groups, resources] = [listIn(rule, 'apiGroups'), listIn(rule, 'resources')]
  return (
    (groups.includes('*') || groups.includes(group)) &&
    ['*', '*/*', plural, `${plural}/*`].some((name) => resources.includes(name))
  )
}

/** Whether the webhook is called in the namespace. The server evaluates the selector. */
async function selects(session: ApiSession, selector: unknown, namespace: string | undefined): Promise<boolean> {
  const labels = Object.entries(Object(fieldOf(selector, 'matchLabels'))).map(
    ([key, value]) => `${key}=${String(value)}`,
  )
  const expressions = listIn(selector, 'matchExpressions').map((expression) => {
    const [key, operator] = [String(fieldOf(expression, 'key')), fieldOf(expression, 'operator')]
    if (operator === 'Exists') return key
    if (operator === 'DoesNotExist') return `!${key}`
    return `${key} ${operator === 'In' ? 'in' : 'notin'} (${listIn(expression, 'values').join(',')})`
  })
  const labelSelector = [...labels, ...expressions].join(',')
  if (namespace === undefined || labelSelector === '') return true
  const query = new URLSearchParams({ labelSelector, fieldSelector: `metadata.name=${namespace}` })
  const list = await visible(session.json({ verb: 'list', path: `/api/v1/namespaces?${query}` }))
  return list === undefined || listIn(list, 'items').length > 0
}

/** The mean durations of the calls of webhooks since the start of the API server, in milliseconds, by name. */
async function meanDurations(session: ApiSession): Promise<ReadonlyMap<string, number>> {
  const body = await visible(session.open({ verb: 'get', path: '/metrics' }))
  const totals = { sum: new Map<string, number>(), count: new Map<string, number>() }
  if (body === undefined) return new Map()
  let text = ''
  for (;;) {
    const data = await session.take(body)
    if (typeof data === 'symbol') throw new CliError('the server sends no more metrics')
    const lines = (text + (data === undefined ? '\n' : Buffer.concat(data).toString('latin1'))).split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) {
      const [, part, name, value] = DURATION.exec(line) ?? []
      if (name === undefined || (part !== 'sum' && part !== 'count')) continue
      totals[part].set(name, (totals[part].get(name) ?? 0) + Number(value))
    }
    if (data === undefined) break
  }
  return new Map(Array.from(totals.sum, ([name, sum]) => [name, (sum / (totals.count.get(name) ?? 1)) * 1_000]))
}

const DURATION = /^apiserver_admission_webhook_admission_duration_seconds_(sum|count)\{.*\bname="([^"]+)".*\} (\S+)$/

/** Resolves with undefined if the user may not see it. */
async function visible<V>(reply: Promise<V>): Promise<V | undefined> {
  try {
    return await reply
  } catch (error) {
    if (apiStatusIn(error)?.code !== 403) throw error
    return undefined
  }
}
