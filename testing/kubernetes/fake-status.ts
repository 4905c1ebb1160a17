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
    const { code, reason, message, details } = this
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code, details }
  }
}

export const notFound = (what: string): Refusal => new Refusal(404, 'NotFound', `${what} not found`)
export const badRequest = (message: string): Refusal => new Refusal(400, 'BadRequest', message)
export const invalid = (message: string): Refusal => new Refusal(422, 'Invalid', message)
export const expired = (message: string): Refusal => new Refusal(410, 'Expired', message)
export const conflict = (what: string): Refusal =>
  new Refusal(409, 'Conflict', `Operation cannot be fulfilled on ${what}: the object has been modified`)
