import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { messageOf } from '../../src/contract/errors.js'
import { runProgram } from '../../tools/postgres/run-program.js'
import { serverCache } from './cache.js'

export interface DebianServer {
  readonly packages: readonly string[]
  /** Programs that must find all their libraries, within the folder. */
  readonly programs: readonly string[]
  /** What to leave out, within the folder: parts that need much more than the rest. */
  readonly without?: readonly string[]
  /** Folders beside the libraries that some of them take others from, by an absolute path that does not hold here. */
  readonly privateFolders?: readonly string[]
  /**
   * Another suite of Debian than that of this machine. Its libraries are unpacked, too, and its programs run with its own loader,
   * because its C library is newer than that of this machine.
   */
  readonly suite?: 'sid'
}

const UPDATE_TIMEOUT_MS = 180_000
const DOWNLOAD_TIMEOUT_MS = 300_000
/** Libraries need libraries; deeper than this they do not go. */
const MAX_ROUNDS = 8
/** Not to be mixed with those of the system, or large and only for parts that are left out. */
const NEVER = /^(libc6|libc-bin|libcrypt1|libgcc-s1|libllvm\S*)$/

/**
 * Unpacks Debian packages into a folder, and those of the libraries they need which this machine lacks. Nothing is installed,
 * no service is started and root is not needed.
 */
export async function unpackDebian(folder: string, server: DebianServer): Promise<void> {
  await requireTools()
  await using apt = new Apt(server.suite)
  const done = new Set<string>()
  let wanted = [...server.packages]
  for (let round = 0; wanted.length > 0; round++) {
    if (round === MAX_ROUNDS) throw new Error(`needs ever more packages: ${wanted.join(' ')}`)
    await apt.unpack(wanted, folder)
    for (const path of server.without ?? []) await rm(join(folder, path), { force: true })
    for (const name of wanted) done.add(name)
    if (server.suite !== undefined) {
      wanted = (await apt.librariesOf([...done])).filter((name) => !done.has(name))
      continue
    }
    wanted = []
    const missing = await missingLibraries(folder, server)
    if (missing.length === 0) return
    for (const name of await apt.librariesOf([...done])) {
      if (!done.has(name) && !NEVER.test(name) && !(await isInstalled(name))) wanted.push(name)
    }
    if (wanted.length === 0) throw new Error(`no Debian package found for ${missing.join(', ')}`)
  }
  for (const program of server.programs) await runByOwnLoader(folder, program)
}

/** Replaces a program by a script that runs it with the loader and the libraries in the folder, also after a move of the folder. */
async function runByOwnLoader(folder: string, program: string): Promise<void> {
  const [libraries] = (await libraryFolders(folder)).map((path) => relative(folder, path))
  if (libraries === undefined) throw new Error(`${folder} has no libraries for ${program}`)
  const loader = (await readdir(join(folder, libraries))).find((name) => /^ld-linux.*\.so\.\d+$/.test(name))
  if (loader === undefined) throw new Error(`${join(folder, libraries)} has no loader for ${program}`)
  const path = join(folder, program)
  const up = relative(dirname(program), '.')
  const script = [
    '#!/bin/sh',
    `root=$(dirname "$0")/${up}`,
    `exec "$root/${libraries}/${loader}" --inhibit-cache --library-path "$root/${libraries}" "$0.real" "$@"`,
  ]
  await rename(path, `${path}.real`)
  await writeFile(path, `${script.join('\n')}\n`, { mode: 0o755 })
}

/** What the unpacked programs need in their environment. */
export async function debianEnvironment(
  folder: string,
  { privateFolders = [], suite }: DebianServer,
): Promise<Record<string, string>> {
  // The programs of another suite know their libraries, which those of this machine must not load.
  if (suite !== undefined) return {}
  const paths = await libraryFolders(folder)
  const inner = paths.flatMap((path) => privateFolders.map((name) => join(path, name)))
  return paths.length === 0 ? {} : { LD_LIBRARY_PATH: [...paths, ...inner].join(':') }
}

async function libraryFolders(folder: string): Promise<string[]> {
  const names = await readdir(join(folder, 'usr/lib')).catch((): string[] => [])
  const more = await readdir(join(folder, 'lib')).catch((): string[] => [])
  const isPlace = (name: string): boolean => /-linux-(gnu|musl)/.test(name)
  return [
    ...names.filter(isPlace).map((name) => join(folder, 'usr/lib', name)),
    ...more.filter(isPlace).map((name) => join(folder, 'lib', name)),
  ]
}

async function requireTools(): Promise<void> {
  for (const tool of ['apt-get', 'dpkg-deb']) {
    await runProgram(tool, ['--version']).catch(() => {
      throw new Error(`not installed here, and fetched only on Debian and its like (there is no ${tool})`)
    })
  }
}

async function missingLibraries(folder: string, server: DebianServer): Promise<string[]> {
  const env = { ...process.env, ...(await debianEnvironment(folder, server)), LC_ALL: 'C' }
  const missing = new Set<string>()
  for (const program of server.programs) {
    const lines = await runProgram('ldd', [join(folder, program)], { env })
    for (const match of lines.matchAll(/^\s*(\S+) => not found/gm)) missing.add(match[1] ?? '')
  }
  return [...missing]
}

async function isInstalled(name: string): Promise<boolean> {
  const facts = await runProgram('dpkg-query', ['--status', name]).catch(() => '')
  return /^Status: install ok installed$/m.test(facts)
}

/** apt with the package lists of the system; for another suite, or if those are not usable, with lists of our own, fetched once. */
class Apt implements AsyncDisposable {
  readonly #suite: string | undefined
  #options: readonly string[] = []
  #lists: string | undefined

  constructor(suite: string | undefined) {
    this.#suite = suite
  }

  /** Downloads packages and unpacks them. */
  async unpack(names: readonly string[], folder: string): Promise<void> {
    const downloads = join(folder, '.downloads')
    await mkdir(downloads)
    await this.#withLists(() => this.#run('apt-get', ['download', ...names], downloads))
    for (const file of await readdir(downloads)) {
      if (file.endsWith('.deb')) await runProgram('dpkg-deb', ['-x', join(downloads, file), folder])
    }
    await rm(downloads, { recursive: true })
  }

  /** Packages with libraries that these depend on. */
  async librariesOf(names: readonly string[]): Promise<string[]> {
    const lines = await this.#run('apt-cache', ['depends', ...names], '/')
    return [...new Set([...lines.matchAll(/^\s+(?:Pre)?Depends: (z?lib\S+)$/gm)].map((match) => match[1] ?? ''))]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#lists !== undefined) await rm(this.#lists, { recursive: true, force: true })
  }

  /** Lists that are missing, or so old that what they name is gone, fail alike. */
  async #withLists(step: () => Promise<unknown>): Promise<void> {
    if (this.#suite !== undefined && this.#lists === undefined) await this.#fetchLists()
    try {
      await step()
    } catch (error) {
      if (this.#lists !== undefined) throw error
      await this.#fetchLists()
      await step()
    }
  }

  /** Into a folder of our own, which needs no root and leaves the system's as they are. */
  async #fetchLists(): Promise<void> {
    const lists = join(await serverCache(), `.partial-apt-${process.pid}`)
    this.#lists = lists
    await mkdir(join(lists, 'lists', 'partial'), { recursive: true })
    await mkdir(join(lists, 'archives', 'partial'), { recursive: true })
    this.#options = [
      `Dir::State=${lists}`,
      `Dir::State::Lists=${join(lists, 'lists')}`,
      'Dir::State::status=/var/lib/dpkg/status',
      `Dir::Cache=${lists}`,
      'Acquire::Languages=none',
      'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false',
      'Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false',
      ...(this.#suite === undefined ? [] : await this.#only(this.#suite, lists)),
    ].flatMap((option) => ['-o', option])
    // Without this, it counts lists that could not be fetched as no failure.
    const strict = ['-o', 'APT::Update::Error-Mode=any']
    await this.#run('apt-get', [...strict, 'update'], '/', UPDATE_TIMEOUT_MS).catch((error: unknown) => {
      throw new Error(`the package lists cannot be fetched: ${messageOf(error)}`)
    })
  }

  /** Options for the packages of this suite alone, from the mirror that the system uses. Writes files that they name. */
  async #only(suite: string, lists: string): Promise<string[]> {
    const known = await this.#run('apt-get', ['update', '--print-uris'], '/')
    const mirror = /'(\S+\/debian)\/dists\//.exec(known)?.[1]
    if (mirror === undefined) throw new Error(`comes from Debian ${suite}, and this machine has no mirror of Debian`)
    const sources = join(lists, 'sources.list')
    await writeFile(sources, `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror} ${suite} main\n`)
    // What this machine has installed is of another suite.
    const status = join(lists, 'status')
    await writeFile(status, '')
    return [`Dir::Etc::sourcelist=${sources}`, 'Dir::Etc::sourceparts=/dev/null', `Dir::State::status=${status}`]
  }

  #run(tool: string, args: readonly string[], cwd: string, timeoutMs = DOWNLOAD_TIMEOUT_MS): Promise<string> {
    const common = ['-o', 'APT::Sandbox::User=root', '-o', 'Acquire::Retries=1', '-o', 'Acquire::http::Timeout=15']
    const env = { ...process.env, LC_ALL: 'C' }
    return runProgram(tool, ['-q', ...common, ...this.#options, ...args], { cwd, env, timeoutMs })
  }
}
