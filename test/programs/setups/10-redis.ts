// Program 10 assumes a Redis at the default port. Here it listens at another port.
import { Socket } from 'node:net'

const port = Number(process.env['REDIS_PORT'])
const { connect } = Socket.prototype as { connect: (this: Socket, ...args: unknown[]) => Socket }
Socket.prototype.connect = function (this: Socket, ...args: unknown[]): Socket {
  const [first] = args.flat() as readonly { port?: unknown }[]
  if (Number(first?.port) === 6379) Object.assign(first ?? {}, { port })
  return connect.apply(this, args)
} as typeof Socket.prototype.connect
