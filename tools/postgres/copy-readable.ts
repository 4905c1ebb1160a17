import { constants } from 'node:fs'
import { chmod, copyFile, mkdir, readdir, readlink, symlink } from 'node:fs/promises'
import { join } from 'node:path'

/** Copies a folder so that every user may read the copy and run its programs. Symbolic links are copied as links. */
export async function copyReadable(from: string, to: string): Promise<void> {
  await mkdir(to)
  await chmod(to, 0o755)
  const entries = await readdir(from, { withFileTypes: true })
  await Promise.all(
    entries.map(async (entry) => {
      const source = join(from, entry.name)
      const target = join(to, entry.name)
      if (entry.isDirectory()) await copyReadable(source, target)
      else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
      else if (entry.isFile()) {
        await copyFile(source, target, constants.COPYFILE_FICLONE)
        await chmod(target, 0o755)
      }
    }),
  )
}
