import { type BigIntStats, chmodSync, lstatSync, mkdtempSync, renameSync, rmSync, unlinkSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { messageOf, SourceError } from '../../src/contract/errors.js'
import { emitWarning } from '../../src/contract/node-or-browser.js'
import { nodeListener } from '../http/node-listener.js'

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist',
  EACCES: 'this user may not write to its folder',
  EINVAL: 'its folder has a path that is too long for a socket, at most 93 bytes',
}

/** A handler that is served at a Unix socket. */
export class SocketServer {
  readonly #server: Server
  readonly #path: string
  /** Identifies the socket in the file system, once it listens. */
  #inode: bigint | undefined
  #isClosed = false

  constructor(path: string, handler: (request: Request) => Promise<Response>) {
    this.#path = path
    this.#server = createServer(nodeListener(handler))
    // The informer keeps the process alive, and its followers do not.
    this.#server.on('connection', (socket) => socket.unref())
  }

  /**
   * Listens. The socket of a process that was killed is replaced.
   *
   * @throws Error with the code of the system: EADDRINUSE, EACCES, ENOENT.
   * @throws SourceError STOPPED if it is closed meanwhile.
   */
  async listen(): Promise<void> {
    try {
      await this.#listen(await freePlace(this.#path))
    } catch (error) {
      await this.close()
      if (error instanceof SourceError) throw error
      const code = String(Object(error).code)
      const message = `share.listen: cannot listen at ${this.#path}: ${reasons[code] ?? messageOf(error)}`
      throw Object.assign(new Error(message, { cause: error }), { code })
    }
  }

  /** Closes all connections, and removes the socket unless it is that of another process meanwhile. */
  async close(): Promise<void> {
    this.#isClosed = true
    try {
      if (this.#inode !== undefined && this.#inode === inodeOf(this.#path)) unlinkSync(this.#path)
    } catch (error) {
      // The process may have given up its rights since it began to listen.
      emitWarning(`share.close: the socket cannot be removed: ${this.#path}: ${messageOf(error)}`)
    }
    this.#inode = undefined
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  /** `replaced` identifies the socket at the path, at which no process listens. */
  async #listen(replaced: bigint | undefined): Promise<void> {
    this.#assertOpen()
    // No other user can reach the socket in this folder before it has its mode.
    const folder = mkdtempSync(`${dirname(this.#path)}/.`)
    const temporary = join(folder, 's')
    try {
      await this.#bind(temporary)
      this.#assertOpen()
      chmodSync(temporary, 0o600)
      // Another process, or another share of this one, may have begun to listen there meanwhile.
      const found = inodeOf(this.#path)
      if (found !== undefined && found !== replaced) throw inUse('another process listens there')
      this.#inode = inodeOf(temporary)
      renameSync(temporary, this.#path)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  #bind(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      let isListening = false
      this.#server.on('error', (error) => {
        // Later errors are those of connections that cannot be accepted.
        if (isListening) emitWarning(`share.listen: ${this.#path}: ${messageOf(error)}`)
        else reject(error)
      })
      this.#server.once('close', resolve) // Closed before it listens.
      this.#server.listen(path, () => {
        isListening = true
        resolve()
      })
      this.#server.unref()
    })
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new SourceError('share.listen: the share was closed', { code: 'STOPPED' })
  }
}

/** The inode of a socket that may be replaced; undefined if the path is free. Throws if it may not. */
async function freePlace(path: string): Promise<bigint | undefined> {
  const found = statOf(path)
  if (found === undefined) return undefined
  if (!found.isSocket()) throw inUse('there is a file that is not a socket')
  if (await isAnswered(path)) throw inUse('another process listens there')
  return found.ino
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false)
      else reject(error.code === 'EACCES' ? inUse('the socket there belongs to another user') : error)
    })
  })
}

function inUse(reason: string): Error {
  return Object.assign(new Error(reason), { code: 'EADDRINUSE' })
}

function statOf(path: string): BigIntStats | undefined {
  return lstatSync(path, { throwIfNoEntry: false, bigint: true })
}

function inodeOf(path: string): bigint | undefined {
  return statOf(path)?.ino
}
