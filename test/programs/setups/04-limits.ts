// Program 04 assumes an etcd at the default port. Here it listens at another port.
import { Socket } from 'node:net'

const port = Number(process.env['ETCD_PORT'])
const { connect } = Socket.prototype as { connect: (this: Socket, ...args: unknown[]) => Socket }
Socket.prototype.connect = function (this: Socket, ...args: unknown[]): Socket {
  const [first] = args.flat() as readonly { port?: unknown }[]
  if (Number(first?.port) === 2379) Object.assign(first ?? {}, { port })
  return connect.apply(this, args)
} as typeof Socket.prototype.connect
