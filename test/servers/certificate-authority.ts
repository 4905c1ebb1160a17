import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../tools/postgres/platform.js'

/** A client certificate and its key, as PEM. */
export type ClientCertificate = { readonly cert: Buffer; readonly key: Buffer }

const run = promisify(execFile)
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'key.pem']

/** Signs certificates for clients, each with a lifetime of seconds. It needs `openssl`. */
export class CertificateAuthority implements AsyncDisposable {
  readonly #folder: string
  #issued = 0

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async create(): Promise<CertificateAuthority> {
    const authority = new CertificateAuthority(await temporaryFolder('listwatch-ca-'))
    const certificate = ['-days', '2', '-out', 'ca.pem', '-subj', '/CN=clients']
    await openssl(authority.#folder, ['req', '-x509', ...NEW_KEY, ...certificate])
    return authority
  }

  get file(): string {
    return join(this.#folder, 'ca.pem')
  }

  /** Certifies the user of this name until this time, in milliseconds of the Unix epoch. The certificate has whole seconds. */
  async issue(user: string, expiresAt: number): Promise<ClientCertificate> {
    const folder = join(this.#folder, String(++this.#issued))
    await mkdir(join(folder, 'signed'), { recursive: true })
    await writeFile(join(folder, 'index.txt'), '')
    await writeFile(join(folder, 'serial'), `${this.#issued + 10}\n`)
    await writeFile(join(folder, 'ca.conf'), CONFIG)
    await openssl(folder, ['req', '-new', ...NEW_KEY, '-out', 'request.pem', '-subj', `/CN=${user}`])
    const dates = ['-startdate', asn1Time(Date.now() - 3_600_000), '-enddate', asn1Time(expiresAt)]
    const signer = ['-cert', '../ca.pem', '-keyfile', '../key.pem']
    const files = ['-config', 'ca.conf', '-in', 'request.pem', '-out', 'cert.pem']
    await openssl(folder, ['ca', '-batch', '-notext', ...signer, ...dates, ...files])
    const [cert, key] = await Promise.all(['cert.pem', 'key.pem'].map((name) => readFile(join(folder, name))))
    if (cert === undefined || key === undefined) throw new Error('openssl wrote no certificate')
    return { cert, key }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true })
  }
}

async function openssl(folder: string, args: readonly string[]): Promise<void> {
  await run('openssl', args, { cwd: folder })
}

const CONFIG = `[ca]
default_ca = clients
[clients]
database = index.txt
serial = serial
new_certs_dir = signed
default_md = sha256
policy = policy
x509_extensions = client
[policy]
commonName = supplied
[client]
extendedKeyUsage = clientAuth
`

/** As YYYYMMDDHHMMSSZ. */
function asn1Time(time: number): string {
  return new Date(time).toISOString().replace(/[-:T]|\.\d+/g, '')
}
