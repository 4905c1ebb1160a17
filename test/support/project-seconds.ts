import type { Reporter, TestModule } from 'vitest/node'

/** Prints how many seconds the test files of each project took, summed over both workers. */
export default class ProjectSeconds implements Reporter {
  readonly #projects = new Map<string, { files: number; tests: number; ms: number }>()

  onTestModuleEnd(module: TestModule): void {
    const { duration, setupDuration, collectDuration, environmentSetupDuration, prepareDuration } = module.diagnostic()
    const project = this.#projects.get(module.project.name) ?? { files: 0, tests: 0, ms: 0 }
    project.files++
    for (const _test of module.children.allTests()) project.tests++
    project.ms += duration + setupDuration + collectDuration + environmentSetupDuration + prepareDuration
    this.#projects.set(module.project.name, project)
  }

  onTestRunEnd(): void {
    const rows = [...this.#projects].sort(([, a], [, b]) => b.ms - a.ms)
    const lines = rows.map(
      ([name, { files, tests, ms }]) =>
        `  ${name.padEnd(12)} ${String(Math.round(ms / 1_000)).padStart(6)} s  ${String(files).padStart(4)} files  ${tests} tests`,
    )
    if (rows.length > 1) process.stdout.write(`\nseconds per project, summed over all workers\n${lines.join('\n')}\n`)
  }
}
