import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BlockCipher } from '../../caches/file/block-cipher.js'
import { encodePrelude, KIND } from '../../caches/file/block-format.js'
import { fileCache } from '../../caches/file/index.js'
import { contextOf, folder, load, mirrorOf, tryLoad } from './support.js'

const encryptionKey = new Uint8Array(32).fill(1)
const otherKey = new Uint8Array(32).fill(2)
const SECRET = 'correct horse battery staple'
const secret = mirrorOf([{ type: 'entry', key: SECRET, object: { [SECRET]: SECRET } }], {
  version: 'a-secret-version',
  resumeState: SECRET,
})

test('an encrypted file comes back, and no text of it is in the file', async () => {
  const path = join(folder(), 'a.cache')
  const cache = fileCache({ path, encryptionKey })
  await cache.save(secret, contextOf({ fingerprint: 'a-fingerprint' }))
  const loaded = await load(cache, contextOf({ fingerprint: 'a-fingerprint' }))
  expect(loaded).toMatchObject({ version: 'a-secret-version', resumeState: SECRET, records: secret.records() })
  const bytes = readFileSync(path).toString('latin1')
  for (const text of [SECRET, 'a-secret-version', 'a-fingerprint', 'records', 'size']) expect(bytes).not.toContain(text)
  await fileCache({ path }).save(secret, contextOf())
  expect(readFileSync(path).toString('latin1')).toContain(SECRET)
})

test('a wrong key, a missing key and a key for a plain file are refused', async () => {
  const path = join(folder(), 'a.cache')
  await fileCache({ path, encryptionKey }).save(secret, contextOf())
  expect(await tryLoad(fileCache({ path, encryptionKey: otherKey }))).toEqual([
    undefined,
    `the file is not used: block 0 cannot be decrypted: encryptionKey is another one, or the file was changed`,
  ])
  expect((await tryLoad(fileCache({ path })))[1]).toMatch(/it is encrypted, and encryptionKey is not set$/)
  await fileCache({ path }).save(secret, contextOf())
  expect((await tryLoad(fileCache({ path, encryptionKey })))[1]).toMatch(
    /it is not encrypted, and encryptionKey is set$/,
  )
})

test('a block is bound to its place, its kind and its file, also without checksums', () => {
  const [prelude, other] = [encodePrelude(Buffer.alloc(32, 3), true), encodePrelude(Buffer.alloc(32, 4), true)]
  const cipher = new BlockCipher(encryptionKey, prelude)
  const payload = cipher.encrypt({ kind: KIND.objects, index: 5 }, Buffer.from('text'))
  expect(cipher.decrypt({ kind: KIND.objects, index: 5 }, payload).toString()).toBe('text')
  const refused = 'cannot be decrypted'
  expect(() => cipher.decrypt({ kind: KIND.objects, index: 6 }, payload)).toThrow(refused)
  expect(() => cipher.decrypt({ kind: KIND.objects + 1, index: 5 }, payload)).toThrow(refused)
  expect(() => cipher.decrypt({ kind: KIND.objects, index: 5 }, payload.subarray(0, -1))).toThrow(refused)
  expect(() => cipher.decrypt({ kind: KIND.objects, index: 5 }, Buffer.alloc(3))).toThrow(refused)
  expect(() => new BlockCipher(encryptionKey, other).decrypt({ kind: KIND.objects, index: 5 }, payload)).toThrow(
    refused,
  )
  expect(() => new BlockCipher(otherKey, prelude).decrypt({ kind: KIND.objects, index: 5 }, payload)).toThrow(refused)
})

test('two saves of the same content have no block in common', async () => {
  const path = join(folder(), 'a.cache')
  const cache = fileCache({ path, encryptionKey })
  await cache.save(secret, contextOf())
  const first = readFileSync(path)
  await cache.save(secret, contextOf())
  const second = readFileSync(path)
  const lastBytes = (file: Buffer): Buffer => file.subarray(-24)
  expect(lastBytes(first).equals(lastBytes(second))).toBe(false)
})

test('a change of the array that was passed as key does not change the key', async () => {
  const path = join(folder(), 'a.cache')
  const key = encryptionKey.slice()
  const cache = fileCache({ path, encryptionKey: key })
  key.fill(0)
  await cache.save(secret, contextOf())
  expect((await load(fileCache({ path, encryptionKey })))?.size).toBe(1)
})
