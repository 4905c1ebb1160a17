import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { createServer, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { SocketServer } from '../../../../serving/share/socket-server.js'
import { waitUntil } from '../../../servers/wait-until.js'
import { failure } from '../../../support/failure.js'
import { accounts, sharedAccounts } from './accounts.js'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'share-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

const asRoot = test.runIf(process.getuid?.() === 0)

/** Leaves a socket at which no process listens, as a process that is killed does. */
async function leaveSocket(path: string): Promise<void> {
  const former = createServer().listen(path)
  await once(former, 'listening')
  // A server that closes removes the socket at its own path only.
  renameSync(path, `${path}.kept`)
  await new Promise((resolve) => former.close(resolve))
  renameSync(`${path}.kept`, path)
}

test('a socket with a scope serves the objects of that scope', async () => {
  await using shared = sharedAccounts(accounts(10))
  const path = join(folder(), 'accounts.sock')
  await shared.share.listen(path, { where: { tenant: 'acme' } })
  const follower = shared.follow({ path })
  await follower.synced()
  expect(follower.size).toBe(5)
})

test('[T6] only the user of the process can use the socket, which is alone in its folder', async () => {
  await using shared = sharedAccounts()
  const path = folder()
  await shared.share.listen(join(path, 'accounts.sock'))
  expect([statSync(join(path, 'accounts.sock')).mode & 0o777, readdirSync(path)]).toEqual([0o600, ['accounts.sock']])
})

test('[T6] listening at a path that is in use rejects, and leaves it to its owner', async () => {
  await using shared = sharedAccounts(accounts(2))
  const own = folder()
  const path = join(own, 'accounts.sock')
  await shared.share.listen(path)
  await using second = sharedAccounts()
  await expect(second.share.listen(path)).rejects.toMatchObject({
    code: 'EADDRINUSE',
    message: `share.listen: cannot listen at ${path}: another process listens there`,
  })
  const file = join(own, 'file')
  writeFileSync(file, 'mine')
  await expect(second.share.listen(file)).rejects.toMatchObject(
    failure('EADDRINUSE', 'there is a file that is not a socket'),
  )
  await second.share.close()
  expect(readdirSync(own).sort()).toEqual(['accounts.sock', 'file'])
  await shared.follow({ path }).synced()
})

asRoot('[T6] listening at the socket of another user rejects, and says so', async () => {
  await using shared = sharedAccounts()
  const path = join(folder(), 'accounts.sock')
  await chmod(dirname(path), 0o755)
  await shared.share.listen(path)
  process.seteuid?.(65_534)
  const listening = shared.share.listen(path).finally(() => process.seteuid?.(0))
  await expect(listening).rejects.toMatchObject(failure('EADDRINUSE', 'the socket there belongs to another user'))
})

test.each(['free', 'left by a killed process'])(
  '[T6] of two shares that begin to listen at a path that is %s, one rejects',
  async (state) => {
    await using first = sharedAccounts(accounts(2))
    await using second = sharedAccounts(accounts(2))
    const path = join(folder(), 'accounts.sock')
    if (state !== 'free') await leaveSocket(path)
    const [one, other] = await Promise.allSettled([first.share.listen(path), second.share.listen(path)])
    expect([one.status, other.status].sort()).toEqual(['fulfilled', 'rejected'])
    const [{ reason }] = [one, other].filter((each) => each.status === 'rejected') as [PromiseRejectedResult]
    expect(reason).toMatchObject({
      code: 'EADDRINUSE',
      message: `share.listen: cannot listen at ${path}: another process listens there`,
    })
    await (one.status === 'rejected' ? first : second).share.close()
    await first.follow({ path }).synced()
  },
)

test('listening in a folder that does not exist, or whose path is too long, rejects, and says so', async () => {
  await using shared = sharedAccounts()
  const own = folder()
  const long = join(own, 'd'.repeat(99 - own.length), 'a')
  mkdirSync(dirname(long))
  for (const [path, code, reason] of [
    [join(own, 'none', 'accounts.sock'), 'ENOENT', 'its folder does not exist'],
    [long, 'EINVAL', 'its folder has a path that is too long for a socket, at most 93 bytes'],
  ] as const) {
    const message = `share.listen: cannot listen at ${path}: ${reason}`
    await expect(shared.share.listen(path)).rejects.toMatchObject({ code, message })
  }
})

test('a connection that cannot be accepted is reported as a warning, and later ones are accepted', async () => {
  await using shared = sharedAccounts(accounts(2))
  using listen = vi.spyOn(Server.prototype, 'listen')
  const path = join(folder(), 'accounts.sock')
  await shared.share.listen(path)
  using warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  // As Node does if the process has no file descriptor left.
  const [server] = listen.mock.contexts as Server[]
  for (let i = 0; i < 2; i++) server?.emit('error', new Error('accept EMFILE'))
  expect(warnings.mock.calls.map(([message]) => message)).toEqual(Array(2).fill(`share.listen: ${path}: accept EMFILE`))
  await shared.follow({ path }).synced()
})

test('[T6] a share that is closed removes its socket, and not one that replaced it', async () => {
  await using shared = sharedAccounts()
  const own = folder()
  const [path, taken] = [join(own, 'a'), join(own, 'b')]
  await shared.share.listen(path)
  await shared.share.listen(taken)
  unlinkSync(taken)
  await using second = sharedAccounts()
  await second.share.listen(taken)
  await shared.share.close()
  expect(readdirSync(own)).toEqual(['b'])
  await second.follow({ path: taken }).synced()
})

asRoot('[T6] a share that may not remove its socket closes it, with a warning', async () => {
  await using shared = sharedAccounts()
  const path = join(folder(), 'accounts.sock')
  await shared.share.listen(path)
  using warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  process.seteuid?.(65_534)
  await shared.share.close().finally(() => process.seteuid?.(0))
  expect(String(warnings.mock.calls)).toContain(`share.close: the socket cannot be removed: ${path}: EACCES`)
  await using second = sharedAccounts()
  await second.share.listen(path)
})

test.each(['share', 'socket server'])('a %s that is closed while it begins to listen does not listen', async (kind) => {
  const own = folder()
  const path = join(own, 'accounts.sock')
  await using shared = sharedAccounts()
  const server = new SocketServer(path, () => Promise.resolve(new Response()))
  const listening = kind === 'share' ? shared.share.listen(path) : server.listen()
  await (kind === 'share' ? shared.share : server).close()
  await expect(listening).rejects.toMatchObject({ code: 'STOPPED' })
  expect(readdirSync(own)).toEqual([])
})

test('a follower whose socket does not exist, or was closed, says so, and continues once it exists', async () => {
  await using first = sharedAccounts(accounts(2))
  await using second = sharedAccounts(accounts(5))
  const path = join(folder(), 'accounts.sock')
  const follower = first.follow({ path })
  const says = `${path}: there is no such socket: no process shares its informer there`
  const hears = () => follower.status.state !== 'live' && follower.status.lastError?.message.includes(says) === true
  for (const [{ share }, size] of [[first, 2] as const, [second, 5] as const]) {
    await waitUntil('the error', hears)
    expect(follower.status.lastError?.code).toBe('UNAVAILABLE')
    await share.listen(path)
    await waitUntil('the objects', () => follower.size === size, 30_000)
    await share.close()
  }
})

test.each(['204 No Content', '304 Not Modified', '999 Unknown', '101 Switching Protocols'])(
  '[T16] a program at the path that answers with %s makes the follower fail, and the error says so',
  async (status) => {
    const path = join(folder(), 'other.sock')
    const other = createServer((connection) => {
      connection.on('error', () => {})
      connection.once('data', () => connection.end(`HTTP/1.1 ${status}\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n`))
    }).listen(path)
    onTestFinished(() => void other.close())
    await once(other, 'listening')
    await using shared = sharedAccounts()
    const follower = shared.follow({ path })
    await waitUntil('the failure', () => follower.status.state === 'failed')
    expect(follower.status.lastError?.code).toBe('PROTOCOL')
    expect(follower.status.lastError?.message).toContain(
      `${path}: it answered with status ${status.slice(0, 3)}: another program listens there`,
    )
  },
)
