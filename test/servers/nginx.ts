import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FoundServer } from './locate.js'
import { placeFor, ServerProcess, started } from './server-process.js'
import { succeeds } from './wait-until.js'

export interface NginxOptions {
  readonly server: FoundServer
  /** The ports on 127.0.0.1 among which it distributes the requests. */
  readonly targets: readonly number[]
  /** How it selects one: a directive of its `upstream`, such as `random;`. Default: one after the other. */
  readonly balancing?: string
  /** Parameters of each server, such as `max_fails=1`. */
  readonly parameters?: string
  /** More directives of its `location`. */
  readonly location?: string
}

const START_TIMEOUT_MS = 10_000

/** One nginx that is the reverse proxy of servers on this host. */
export class Nginx extends ServerProcess<NginxOptions> {
  static async start(options: NginxOptions): Promise<Nginx> {
    return await started(new Nginx(options, await placeFor('nginx')), async (nginx) => {
      await writeFile(join(nginx.folder, 'nginx.conf'), configuration(options, nginx.port))
      await nginx.spawn('nginx', ['-p', nginx.folder, '-c', 'nginx.conf', '-e', 'stderr'])
      await nginx.answering('nginx', () => succeeds(fetch(nginx.url)), START_TIMEOUT_MS)
    })
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }
}

/** One process, whose files are all in its folder. */
function configuration(
  { targets, balancing = '', parameters = '', location = '' }: NginxOptions,
  port: number,
): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${kind};`)
  const servers = targets.map((target) => `server 127.0.0.1:${target} ${parameters};`)
  return `
daemon off; master_process off; pid nginx.pid; error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off; ${temporary.join(' ')}
  proxy_cache_path cache keys_zone=cached:1m;
  upstream mirrors { ${balancing} ${servers.join(' ')} }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://mirrors; proxy_http_version 1.1; proxy_set_header Connection ""; ${location} }
  }
}
`
}
