import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import { type BlockPlace, type Prelude, UnusableFile } from './block-format.js'

/** The length of the user's key in bytes. */
export const KEY_BYTES = 32
const TAG_BYTES = 16
const NONCE_BYTES = 12

/**
 * Encrypts the blocks of one file with AES-256-GCM. The key of a file is derived from the user's key and the salt of
 * the file, and the nonce is the number of the block. So no nonce is used twice under one key.
 */
export class BlockCipher {
  readonly #key: Buffer
  readonly #prelude: Prelude

  constructor(userKey: Uint8Array, prelude: Prelude) {
    this.#key = Buffer.from(hkdfSync('sha256', userKey, prelude.salt, 'listwatch file cache', KEY_BYTES))
    this.#prelude = prelude
  }

  encrypt(place: BlockPlace, plain: Buffer): Buffer {
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonceOf(place), { authTagLength: TAG_BYTES })
    cipher.setAAD(this.#bound(place))
    return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  }

  /** @throws UnusableFile if the key is another one, or the block was changed or moved. */
  decrypt(place: BlockPlace, payload: Buffer): Buffer {
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonceOf(place), { authTagLength: TAG_BYTES })
    decipher.setAAD(this.#bound(place))
    const end = payload.length - TAG_BYTES
    try {
      decipher.setAuthTag(payload.subarray(end))
      return Buffer.concat([decipher.update(payload.subarray(0, end)), decipher.final()])
    } catch (cause) {
      throw new UnusableFile(
        `block ${place.index} cannot be decrypted: encryptionKey is another one, or the file was changed`,
        { cause },
      )
    }
  }

  /** What a block is bound to, besides its number: the prelude of the file, and the kind of the block. */
  #bound({ kind }: BlockPlace): Buffer {
    return Buffer.concat([this.#prelude.bytes, Buffer.of(kind)])
  }
}

function nonceOf({ index }: BlockPlace): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES)
  nonce.writeUInt32LE(index, 0)
  return nonce
}
