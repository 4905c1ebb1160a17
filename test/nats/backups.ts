import type { NatsConnection } from '@nats-io/transport-node'

export type StreamBackup = { readonly config: object; readonly state: object; readonly chunks: readonly Uint8Array[] }

type Reply = { readonly error?: { readonly description: string } }

/** Saves a stream as `nats stream backup` does. */
export async function backupOf(admin: NatsConnection, stream: string): Promise<StreamBackup> {
  const inbox = `_INBOX.backup.${Math.random().toString(36).slice(2)}`
  const chunks: Uint8Array[] = []
  const subscription = admin.subscribe(inbox)
  const body = JSON.stringify({ deliver_subject: inbox, no_consumers: true, jsck: false })
  const response = await admin.request(`$JS.API.STREAM.SNAPSHOT.${stream}`, body)
  const { config, state, error } = response.json<Reply & Omit<StreamBackup, 'chunks'>>()
  if (error !== undefined) throw new Error(error.description)
  for await (const message of subscription) {
    if (message.data.length === 0) break
    chunks.push(message.data.slice())
    message.respond('')
  }
  subscription.unsubscribe()
  return { config, state, chunks }
}

/** Creates a stream from a backup, as `nats stream restore` does. */
export async function restore(
  admin: NatsConnection,
  stream: string,
  { config, state, chunks }: StreamBackup,
): Promise<void> {
  const response = await admin.request(`$JS.API.STREAM.RESTORE.${stream}`, JSON.stringify({ config, state }))
  const { deliver_subject: subject = '', error } = response.json<Reply & { deliver_subject?: string }>()
  if (error !== undefined) throw new Error(error.description)
  for (const chunk of chunks) await admin.request(subject, chunk)
  const end = (await admin.request(subject, '', { timeout: 10_000 })).json<Reply>()
  if (end.error !== undefined) throw new Error(end.error.description)
}
