/** A key of a relay as one token of a NATS subject: bytes other than letters, digits, `_` and `-` become `=XX`. */
export function encodeRelayKey(key: string): string {
  return Array.from(Buffer.from(key), (byte) => {
    const character = String.fromCharCode(byte)
    return /[\w-]/.test(character) ? character : `=${byte.toString(16).padStart(2, '0')}`
  }).join('')
}

export function decodeRelayKey(token: string): string {
  const bytes = token.replace(/=([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
