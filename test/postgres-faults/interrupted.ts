import { Client, type ClientConfig } from 'pg'

/** A client that does something before each statement that it sends. */
export function interrupted(config: ClientConfig, before: (text: string) => void | Promise<void>): Client {
  const client = new Client(config)
  return new Proxy(client, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (name !== 'query') return value.bind(target)
      return (sent: unknown) => {
        const send = (): unknown => Reflect.apply(value, target, [sent])
        const { text, submit } = Object(sent)
        // A COPY brings its own reader, and is not awaited.
        return typeof text === 'string' && submit === undefined ? Promise.resolve(before(text)).then(send) : send()
      }
    },
  })
}
