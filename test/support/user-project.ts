import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root } from './sources.js'

/** A project of a user's, who has installed these packages, and us as we are built. Dispose of it when done. */
export class UserProject implements Disposable {
  readonly path: string = realpathSync(mkdtempSync(join(tmpdir(), 'listwatch-user-')))

  constructor(dependencies: readonly string[]) {
    this.write('package.json', JSON.stringify({ name: 'user', private: true, type: 'module' }))
    this.#link('listwatch', root)
    for (const name of dependencies) this.#link(name, join(root, 'node_modules', name))
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.path, name), text)
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }

  #link(name: string, target: string): void {
    const path = join(this.path, 'node_modules', name)
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(target, path)
  }
}
