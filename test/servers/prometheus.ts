import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram } from '../../tools/postgres/run-program.js'
import type { FoundServer } from './locate.js'
import { placeFor, ServerProcess, started } from './server-process.js'

export interface PrometheusOptions {
  readonly server: FoundServer
  /** The address whose metrics it reads each second: `host:port`. */
  readonly target: string
  /** The texts of the files with rules, by name. Prometheus evaluates them each second. */
  readonly rules: ReadonlyMap<string, string>
}

/** A rule as Prometheus reports it. */
export interface EvaluatedRule {
  /** The name of the file in `rules`. */
  readonly file: string
  readonly name: string
  readonly health: string
  readonly lastError?: string
  readonly lastEvaluation: string
  readonly alerts: readonly Alert[]
}

export interface Alert {
  readonly state: 'pending' | 'firing'
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

const START_TIMEOUT_MS = 20_000

/** One Prometheus with its data in a temporary folder, which reads one target. */
export class PrometheusServer extends ServerProcess<PrometheusOptions> {
  static async start(options: PrometheusOptions): Promise<PrometheusServer> {
    return await started(new PrometheusServer(options, await placeFor('prometheus')), (made) => made.#start())
  }

  /** Starts it, and waits until it responds. */
  async #start(): Promise<void> {
    const { target, rules } = this.options
    for (const [name, text] of rules) await writeFile(join(this.folder, name), text)
    const configuration = join(this.folder, 'prometheus.yml')
    // JSON is YAML.
    const text = JSON.stringify({
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: [...rules.keys()],
      scrape_configs: [{ job_name: 'listwatch', static_configs: [{ targets: [target] }] }],
    })
    await writeFile(configuration, text)
    await this.spawn('prometheus', [
      `--config.file=${configuration}`,
      `--storage.tsdb.path=${join(this.folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${this.port}`,
      '--log.level=warn',
    ])
    const isReady = async (): Promise<boolean> =>
      (await fetch(`http://127.0.0.1:${this.port}/-/ready`).catch(() => undefined))?.ok === true
    await this.answering('Prometheus', isReady, START_TIMEOUT_MS)
  }

  /** The `data` of a response of its API. Rejects with its error. */
  async get<R>(path: string, parameters: Readonly<Record<string, string>> = {}): Promise<R> {
    const response = await fetch(`http://127.0.0.1:${this.port}/api/v1/${path}?${new URLSearchParams(parameters)}`)
    const { status, data, error } = (await response.json()) as { status: string; data: R; error?: string }
    if (status !== 'success') throw new Error(`${path} ${JSON.stringify(parameters)}: ${error}`)
    return data
  }

  /** The values of an expression at this time. */
  async valuesOf(expression: string): Promise<readonly number[]> {
    const { result } = await this.get<{ result: readonly { value: readonly [number, string] }[] }>('query', {
      query: expression,
    })
    return result.map(({ value: [, text] }) => Number(text))
  }

  /** All rules, with their alerts. */
  async rules(): Promise<readonly EvaluatedRule[]> {
    const { groups } = await this.get<{
      groups: readonly { file: string; rules: readonly Omit<EvaluatedRule, 'file'>[] }[]
    }>('rules')
    return groups.flatMap(({ file, rules }) =>
      rules.map((rule) => ({ ...rule, file: file.slice(this.folder.length + 1) })),
    )
  }

  /** Runs `promtool check` on a text. Rejects if it finds anything wrong. */
  async check(kind: 'rules' | 'metrics', text: string): Promise<string> {
    const file = join(this.folder, `checked-${kind}.yml`)
    await writeFile(file, text)
    const promtool = join(this.server.binDir, 'promtool')
    // Metrics are read from the standard input.
    const command = kind === 'rules' ? '"$0" check rules "$1"' : '"$0" check metrics <"$1"'
    const env = { ...process.env, ...this.server.env }
    return await runProgram('sh', ['-c', command, promtool, file], { env, timeoutMs: START_TIMEOUT_MS })
  }
}
