/**
 * What a user can do about an error of the network; undefined if the message is not one. `tlsHint`: how TLS is
 * configured.
 */
export function networkHint(message: string, tlsHint: string): string | undefined {
  if (/ECONNREFUSED/.test(message)) return 'no server listens there: check host and port'
  if (/ENOTFOUND|EAI_AGAIN|Name resolution failed/.test(message)) return 'no such host: check its name'
  return /certificate|SSL|TLS|wrong version number/i.test(message) ? tlsHint : undefined
}
