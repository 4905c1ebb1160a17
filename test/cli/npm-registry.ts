import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, lstatSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { onTestFinished } from 'vitest'
import { listening } from '../support/listening.js'
import { root, textOf } from '../support/sources.js'

export type NpmRegistry = { readonly url: string; readonly downloaded: readonly string[]; close(): void }

/** Starts an npm registry that serves the installed packages of this project. It ends with the test. */
export async function startNpmRegistry(): Promise<NpmRegistry> {
  const downloaded: string[] = []
  const server = createServer((request, response) => {
    const [name = '', file] = decodeURIComponent(request.url ?? '')
      .slice(1)
      .split('/-/')
    if (!existsSync(join(root, 'node_modules', name, 'package.json'))) response.writeHead(404).end('{}')
    else if (file === undefined) response.end(JSON.stringify(packument(name, `${url}${name}/-/package.tgz`)))
    else {
      downloaded.push(name)
      response.end(tarballOf(name))
    }
  })
  const url = `${await listening(server)}/`
  const close = (): void => {
    server.closeAllConnections()
    server.close()
  }
  onTestFinished(close)
  return { url, downloaded, close }
}

function packument(name: string, tarball: string): object {
  const manifest = JSON.parse(textOf(`node_modules/${name}/package.json`)) as { readonly version: string }
  const { version } = manifest
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist: { tarball } } } }
}

/** Like that of npm, which has no symbolic links. Compressed less, because Postgres is large. */
function tarballOf(name: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'listwatch-tarball-'))
  using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
  cpSync(join(root, 'node_modules', name), join(folder, 'package'), {
    recursive: true,
    filter: (path) => basename(path) !== 'node_modules' && !lstatSync(path).isSymbolicLink(),
  })
  const { status, stdout } = spawnSync('tar', ['-cf', '-', '-C', folder, 'package'], { maxBuffer: 2 ** 28 })
  if (status !== 0) throw new Error(`tar failed for ${name}`)
  return gzipSync(stdout, { level: 1 })
}
