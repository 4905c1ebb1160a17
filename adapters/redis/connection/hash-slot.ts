export const SLOTS = 16_384

/** The slot of a key in a cluster. If the key has a hash tag in braces, only the tag counts. */
export function slotOf(key: string): number {
  const begin = key.indexOf('{')
  const end = begin < 0 ? -1 : key.indexOf('}', begin + 1)
  return crc16(Buffer.from(end > begin + 1 ? key.slice(begin + 1, end) : key)) % SLOTS
}

/** CRC-16/XMODEM, the hash of slots. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  }
  return crc & 0xffff
}
