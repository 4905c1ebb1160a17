import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/**
 * Calls `onWrite` after writes to the file of a database or to its -wal. It is only a hint: not all platforms and file
 * systems report all writes. `onReplace` is called when one of the files was created, deleted or renamed. Returns a function
 * that ends the watch.
 */
export function watchFiles(path: string, onWrite: () => void, onReplace: () => void): () => void {
  const own = basename(path)
  try {
    // The folder, because the -wal may not exist yet, and is replaced.
    const watcher = watch(dirname(path), { persistent: false }, (event, name) => {
      if (name !== null && name !== own && name !== `${own}-wal` && name !== `${own}-shm`) return
      if (event === 'rename') onReplace()
      onWrite()
    })
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  } catch {
    return () => {} // Polls find all changes.
  }
}
