import { withPlainScheme } from '../args/server-url.js'
import { sourceKindOf } from '../args/source-kinds.js'
import { type Command, colors } from '../bundled.js'
import type { Diagnosis, Result } from '../doctor/check.js'
import { CliError } from '../output/cli-error.js'
import { withoutControls } from '../output/status-view.js'
import type { SourceFlags } from '../sources/open-source.js'

export interface DoctorFlags extends SourceFlags {
  readonly json?: boolean
}

/** Checks a source, and prints what is wrong. The exit code is 1 if there is an error. */
export async function doctor(given: string, flags: DoctorFlags, command: Command): Promise<void> {
  const diagnosis = await diagnose(withPlainScheme(given), flags, command)
  const { findings } = diagnosis
  if (flags.json === true) process.stdout.write(`${JSON.stringify(diagnosis)}\n`)
  else {
    for (const finding of findings) process.stdout.write(`${lineOf(finding)}\n`)
    process.stdout.write(`${summary(diagnosis)}\n`)
  }
  if (findings.some(({ severity }) => severity === 'error')) process.exitCode = 1
}

async function diagnose(url: string, flags: DoctorFlags, command: Command): Promise<Diagnosis> {
  const { prefix, table } = flags
  switch (sourceKindOf(url, { ...flags })) {
    case 'postgres':
      if (table === undefined) return command.error("error: required option '--table <name>' not specified")
      return (await import('../doctor/postgres.js')).diagnosePostgres(url, { ...flags, table })
    case 'redis':
      return (await import('../doctor/redis.js')).diagnoseRedis(url, flags)
    case 'nats':
      throw new CliError('doctor checks Postgres, Redis, etcd and Kubernetes, and not NATS')
    case 'etcd':
      if (prefix === undefined) throw new CliError('--prefix is missing: etcd://host:2379 --prefix /jobs/')
      return (await import('../doctor/etcd.js')).diagnoseEtcd(url, { ...flags, prefix })
    case 'kubernetes':
      return (await import('../doctor/kubernetes.js')).diagnoseKubernetes(url, flags)
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
  return `${checks} checks: ${countOf('error')} errors, ${countOf('warning')} warnings${rest}`
}
