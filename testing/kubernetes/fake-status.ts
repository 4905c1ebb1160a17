import type { FieldConflict } from './objects/field-owners.js'

/** A failure of a request, which is answered as a `Status` object. */
export class Refusal extends Error {
  readonly code: number
  readonly reason: string
  readonly details: object | undefined

  constructor(code: number, reason: string, message: string, details?: object) {
    super(message)
    this.code = code
    this.reason = reason
    this.details = details
  }

  get status(): object {
    const { code, message, details } = this
    const reason = this.reason === '' ? undefined : this.reason
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code, details }
  }
}

export const notFound = (what: string): Refusal => new Refusal(404, 'NotFound', `${what} not found`)
export const notAllowed = (method: string): Refusal =>
  new Refusal(405, 'MethodNotAllowed', `${method} is not supported`)
export const badRequest = (message: string): Refusal => new Refusal(400, 'BadRequest', message)
/** As kube-apiserver answers the wrong use of a version. */
export const internalError = (message: string): Refusal => new Refusal(500, '', message)
export const invalid = (message: string): Refusal => new Refusal(422, 'Invalid', message)
export const expired = (message: string): Refusal => new Refusal(410, 'Expired', message)
export const conflict = (what: string): Refusal =>
  new Refusal(409, 'Conflict', `Operation cannot be fulfilled on ${what}: the object has been modified`)

export function applyConflict(conflicts: readonly FieldConflict[], apiVersion: string): Refusal {
  const causes = conflicts.map(({ manager, subresource, isApplied, field }) => {
    const part = subresource === undefined ? '' : ` with subresource ${JSON.stringify(subresource)}`
    const message = `conflict with ${JSON.stringify(manager)}${part}${isApplied ? '' : ` using ${apiVersion}`}`
    return { reason: 'FieldManagerConflict', message, field }
  })
  causes.sort((a, b) => (a.field < b.field ? -1 : 1))
  const s = causes.length === 1 ? '' : 's'
  const all = causes.map(({ message, field }) => `${message}: ${field}`).join('\n')
  return new Refusal(409, 'Conflict', `Apply failed with ${causes.length} conflict${s}: ${all}`, { causes })
}
