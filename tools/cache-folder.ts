import { homedir } from 'node:os'
import { join } from 'node:path'

/** Returns the folder of the user's cache in which downloads of this kind are kept. It may not exist. */
export function cacheFolder(kind: string): string {
  const asked = process.env['XDG_CACHE_HOME']
  return join(asked === undefined || asked === '' ? join(homedir(), '.cache') : asked, 'listwatch', kind)
}
