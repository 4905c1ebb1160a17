import { X509Certificate } from 'node:crypto'
import { rootCertificates } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { certificateFlaw } from '../../../../adapters/kubernetes/http/client-certificate.js'

const [pem = ''] = rootCertificates
const { subject, validFromDate, validToDate } = new X509Certificate(pem)
const name = `the client certificate ${subject.replaceAll('\n', ', ')}`

describe('[K18] a client certificate', () => {
  test('has no flaw from its first to its last second', () => {
    for (const date of [validFromDate, validToDate]) expect(certificateFlaw(pem, date.getTime())).toBeUndefined()
  })

  test('that has expired is named with its subject and its end', () => {
    const flaw = certificateFlaw(Buffer.from(pem), validToDate.getTime() + 1)
    expect(flaw).toBe(`${name} expired at ${validToDate.toISOString()}: renew it`)
  })

  test('that is not valid yet is named with its begin', () => {
    const flaw = certificateFlaw(pem, validFromDate.getTime() - 1)
    expect(flaw).toBe(`${name} is not valid before ${validFromDate.toISOString()}`)
  })

  test('has no flaw that is known if there is none, or if it is not PEM', () => {
    for (const cert of [undefined, '', 'x', Buffer.alloc(0), [pem]]) expect(certificateFlaw(cert, 0)).toBeUndefined()
  })
})
