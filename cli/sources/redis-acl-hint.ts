/** The mirrored collection, stream or keys: exactly one of them. */
interface Mirrored {
  readonly collection?: string
  readonly stream?: string
  readonly keys?: string
  readonly cluster?: boolean
}

/** The command that grants a user of Redis 7 the rights that a mirror needs. */
export function redisAclHint({ collection, stream, keys = '', cluster }: Mirrored, user: string, db = 0): string {
  const more = `${db === 0 ? '' : ' +select'}${cluster === true ? ' +cluster|slots' : ''}`
  return `ACL SETUSER ${user} ${rules(collection, stream, keys)} +role +info${more}`
}

function rules(collection: string | undefined, stream: string | undefined, keys: string): string {
  if (collection !== undefined) return `%R~{${collection}}:* +hmget +hlen +hscan +xread +xrevrange +multi +exec +time`
  if (stream !== undefined) return `%R~${stream} +xread +xrange +xinfo|stream +multi +exec +eval`
  return `%R~${keys} &__redis__:invalidate +scan +mget +subscribe +ping +client|id +client|tracking`
}
