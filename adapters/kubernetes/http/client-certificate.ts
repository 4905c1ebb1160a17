import { X509Certificate } from 'node:crypto'

/** Why a server refuses this client certificate at that time; undefined if it is valid, or if there is none. */
export function certificateFlaw(cert: unknown, now: number): string | undefined {
  const certificate = certificateOf(cert)
  if (certificate === undefined) return undefined
  const { validFromDate, validToDate, subject } = certificate
  const name = `the client certificate ${subject.replaceAll('\n', ', ')}`
  if (now > validToDate.getTime()) return `${name} expired at ${validToDate.toISOString()}: renew it`
  return now < validFromDate.getTime() ? `${name} is not valid before ${validFromDate.toISOString()}` : undefined
}

/** The first certificate of a chain is that of the client. */
function certificateOf(cert: unknown): X509Certificate | undefined {
  if (typeof cert !== 'string' && !Buffer.isBuffer(cert)) return undefined
  try {
    return new X509Certificate(cert)
  } catch {
    return undefined
  }
}
