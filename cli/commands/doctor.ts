import { jsonText } from '../args/fields.js'
import { onlyOne } from '../args/parsers.js'
import { withPlainScheme } from '../args/server-url.js'
import { sourceKindOf } from '../args/source-kinds.js'
import { type Command, colors } from '../bundled.js'
import type { CheckProgress, Diagnosis, OnCheckProgress, Result } from '../doctor/check.js'
import { CliError } from '../output/cli-error.js'
import { ProgressLine } from '../output/progress-line.js'
import { withoutControls } from '../output/status-view.js'
import type { SourceFlags } from '../sources/open-source.js'

export interface DoctorFlags extends SourceFlags {
  readonly json?: boolean
}

/** Checks a source, and prints what is wrong. The exit code is 1 if there is an error. */
export async function doctor(given: string, flags: DoctorFlags, command: Command): Promise<void> {
  const diagnosis = await withProgress(flags, (onProgress) =>
    diagnose(withPlainScheme(given), flags, command, onProgress),
  )
  const { findings } = diagnosis
  if (flags.json === true) process.stdout.write(`${jsonText(diagnosis)}\n`)
  else {
    for (const finding of findings) process.stdout.write(`${lineOf(finding)}\n`)
    process.stdout.write(`${summary(diagnosis)}\n`)
  }
  if (findings.some(({ severity }) => severity === 'error')) process.exitCode = 1
}

/** Shows on a terminal which check runs, and of how many. With `--json` nothing is shown. */
async function withProgress(
  { json }: DoctorFlags,
  diagnosed: (onProgress: OnCheckProgress) => Promise<Diagnosis>,
): Promise<Diagnosis> {
  let text = 'connecting'
  using progress = new ProgressLine(() => text, json !== true)
  const interrupted = (): void => {
    progress[Symbol.dispose]()
    process.kill(process.pid, 'SIGINT') // Now without a listener, so that it ends the process.
  }
  process.once('SIGINT', interrupted)
  try {
    return await diagnosed(({ checks, done, running }: CheckProgress) => {
      text = `check ${done + 1} of ${checks}: ${running.join(', ')}`
      progress.draw()
    })
  } finally {
    process.off('SIGINT', interrupted)
  }
}

async function diagnose(
  url: string,
  flags: DoctorFlags,
  command: Command,
  onProgress: OnCheckProgress,
): Promise<Diagnosis> {
  const [table, prefix] = [onlyOne('--table', flags.table), onlyOne('--prefix', flags.prefix)]
  switch (sourceKindOf(url, { ...flags })) {
    case 'postgres':
      if (table === undefined) return command.error("error: required option '--table <name>' not specified")
      return (await import('../doctor/postgres.js')).diagnosePostgres(url, { ...flags, table }, onProgress)
    case 'sqlite':
      if (table === undefined) return command.error("error: required option '--table <name>' not specified")
      return (await import('../doctor/sqlite.js')).diagnoseSqlite(url, { ...flags, table }, onProgress)
    case 'mysql':
      if (table === undefined) return command.error("error: required option '--table <name>' not specified")
      return (await import('../doctor/mysql.js')).diagnoseMysql(url, { ...flags, table }, onProgress)
    case 'redis':
      return (await import('../doctor/redis.js')).diagnoseRedis(url, flags, onProgress)
    case 'nats':
      return (await import('../doctor/nats.js')).diagnoseNats(url, flags, onProgress)
    case 'etcd':
      if (prefix === undefined) throw new CliError('--prefix is missing: etcd://host:2379 --prefix /jobs/')
      return (await import('../doctor/etcd.js')).diagnoseEtcd(url, { ...flags, prefix }, onProgress)
    case 'kubernetes':
      return (await import('../doctor/kubernetes.js')).diagnoseKubernetes(url, flags, onProgress)
  }
}

function lineOf({ name, severity, problem, remedy }: Result): string {
  const mark = { error: colors.red, warning: colors.yellow, unknown: colors.dim }[severity](severity)
  return `${mark} ${colors.bold(name)}: ${withoutControls(problem)}${remedy === undefined ? '' : `; ${withoutControls(remedy)}`}`
}

function summary({ checks, findings }: Diagnosis): string {
  const countOf = (wanted: Result['severity']): number => findings.filter(({ severity }) => severity === wanted).length
  const unknown = countOf('unknown')
  const rest = unknown === 0 ? '' : `, ${unknown} could not be checked`
  const errors = counted(countOf('error'), 'error')
  return `${checks} checks: ${errors}, ${counted(countOf('warning'), 'warning')}${rest}`
}

function counted(count: number, name: string): string {
  return `${count} ${name}${count === 1 ? '' : 's'}`
}
