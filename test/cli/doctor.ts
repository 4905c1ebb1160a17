import type { Diagnosis, Result } from '../../cli/doctor/check.js'
import { type CommandOptions, listwatch, resultOf } from './support.js'

/** Runs `listwatch doctor`, and returns its findings by their names. Throws for an exit code that does not fit them. */
export async function findings(
  args: readonly string[],
  options?: CommandOptions,
): Promise<ReadonlyMap<string, Result>> {
  const { code, output, errors } = await resultOf(listwatch(['doctor', ...args, '--json'], options))
  if (errors !== '' || output === '') throw new Error(`exit code ${code}: ${output}${errors}`)
  const diagnosis = JSON.parse(output) as Diagnosis
  const hasError = diagnosis.findings.some(({ severity }) => severity === 'error')
  if (code !== (hasError ? 1 : 0)) throw new Error(`the exit code is ${code}: ${output}`)
  return new Map(diagnosis.findings.map((finding) => [finding.name, finding]))
}

export async function namesOf(args: readonly string[], options?: CommandOptions): Promise<readonly string[]> {
  return [...(await findings(args, options)).keys()]
}
