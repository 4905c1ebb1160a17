import { jsonText } from '../args/fields.js'
import { type Command, colors } from '../bundled.js'
import type { Diagnosis, OnCheckProgress, Result } from '../doctor/check.js'
import { ProgressLine } from '../output/progress-line.js'
import { counted, withoutControls } from '../output/status-view.js'
import { type SourceFlags, targetOf } from '../sources/open-source.js'

export interface DoctorFlags extends SourceFlags {
  readonly json?: boolean
}

/** Checks a source, and prints what is wrong. The exit code is 1 if there is an error. */
export async function doctor(given: string, flags: DoctorFlags, command: Command): Promise<void> {
  const diagnosis = await withProgress(flags, async (onProgress) => {
    const { kind, url, options } = targetOf(given, flags, command)
    return await (await DOCTORS[kind]())(url, options, onProgress)
  })
  const { findings } = diagnosis
  if (flags.json === true) process.stdout.write(`${jsonText(diagnosis)}\n`)
  else {
    for (const finding of findings) process.stdout.write(`${lineOf(finding)}\n`)
    process.stdout.write(`${summary(diagnosis)}\n`)
  }
  if (findings.some(({ severity }) => severity === 'error')) process.exitCode = 1
}

async function withProgress(
  { json }: DoctorFlags,
  diagnosed: (onProgress: OnCheckProgress) => Promise<Diagnosis>,
): Promise<Diagnosis> {
  using progress = new ProgressLine('connecting', json !== true)
  const interrupted = (): void => {
    progress[Symbol.dispose]()
    process.kill(process.pid, 'SIGINT') // Now without a listener, so that it ends the process.
  }
  process.once('SIGINT', interrupted)
  try {
    return await diagnosed(({ checks, done, running }) =>
      progress.begin(`check ${done + 1} of ${checks}: ${running.join(', ')}`),
    )
  } finally {
    process.off('SIGINT', interrupted)
  }
}

const DOCTORS = {
  postgres: async () => (await import('../doctor/postgres.js')).diagnosePostgres,
  sqlite: async () => (await import('../doctor/sqlite.js')).diagnoseSqlite,
  mysql: async () => (await import('../doctor/mysql.js')).diagnoseMysql,
  redis: async () => (await import('../doctor/redis.js')).diagnoseRedis,
  nats: async () => (await import('../doctor/nats.js')).diagnoseNats,
  etcd: async () => (await import('../doctor/etcd.js')).diagnoseEtcd,
  kubernetes: async () => (await import('../doctor/kubernetes.js')).diagnoseKubernetes,
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
