/**
 * Returns the object for the value that is stored under a key. If it throws, this one object is invalid.
 *
 * @example
 * ```ts
 * import type { EtcdCodec } from 'listwatch/etcd'
 *
 * const decode: EtcdCodec<Limit> = (value, key) => {
 *   const [rps = 0, burst = 0] = new TextDecoder().decode(value).split('/').map(Number) // `5/10`
 *   return { tenant: key.slice('/limits/'.length), rps, burst }
 * }
 * const source = etcdSource({ client: etcd, prefix: '/limits/', codec: decode })
 * ```
 */
export type EtcdCodec<T> = (value: Uint8Array, key: string) => T;
/**
 * `string`: keys are UTF-8. `bytes`: a key is a string with one character, of 0 to 255, for each byte.
 *
 * @example
 * ```ts
 * const source = etcdSource<Uint8Array>({ client: etcd, prefix: 'hash/', codec: 'bytes', keys: 'bytes' })
 * const hashes = createInformer({ source })
 * const value = hashes.get(`hash/${Buffer.from('00ff', 'hex').toString('latin1')}`) // One character for each byte.
 * ```
 */
export type EtcdKeys = 'string' | 'bytes';
