import type { Socket } from 'node:net'
import type { Direction, Rules } from './fault-proxy.js'

/** What waits here before the sender is made to wait, in bytes. */
const MAX_WAITING = 1 << 20
/** A slow line carries pieces that take about this long, in milliseconds. */
const SLOW_PIECE_MS = 10

type Piece = { bytes: Buffer; readonly dueAt: number }

/** One direction of a connection: takes what `from` sends and hands it to `to` piece by piece, as the rules allow. */
export class Pipe {
  readonly #from: Socket
  readonly #to: Socket
  readonly #direction: Direction
  readonly #rules: Rules
  readonly #cut: () => void
  readonly #waiting: Piece[] = []
  #waitingBytes = 0
  #hasEnded = false
  #isStopped = false
  /** A piece is under way; the next waits for it, so that order and pace are those of the rules. */
  #isBusy = false
  #timer: NodeJS.Timeout | undefined

  constructor(from: Socket, to: Socket, direction: Direction, rules: Rules, cut: () => void) {
    this.#from = from
    this.#to = to
    this.#direction = direction
    this.#rules = rules
    this.#cut = cut
    from.on('data', (bytes: Buffer) => this.#take(bytes))
    from.on('end', () => {
      this.#hasEnded = true
      this.move()
    })
  }

  /** Sends what is due, and reads on or waits. */
  move(): void {
    if (this.#isStopped) return
    this.#regulate()
    if (this.#rules.isHeld || this.#isBusy) return
    const piece = this.#waiting[0]
    if (piece !== undefined) this.#sendOrWait(piece)
    else if (this.#hasEnded) this.#end()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#from.removeAllListeners('data')
  }

  #take(bytes: Buffer): void {
    this.#waiting.push({ bytes, dueAt: performance.now() + this.#rules.delayMs })
    this.#waitingBytes += bytes.length
    this.move()
  }

  /** While held, nothing is read either: the sender's own buffers fill, as they do when the network is down. */
  #regulate(): void {
    if (this.#rules.isHeld || this.#waitingBytes > MAX_WAITING) this.#from.pause()
    else this.#from.resume()
  }

  #sendOrWait(piece: Piece): void {
    clearTimeout(this.#timer)
    const early = this.#dueAt(piece) - performance.now()
    if (early > 0) this.#timer = setTimeout(() => this.move(), Math.ceil(early))
    else this.#send(piece)
  }

  /** By `performance.now()`; 0 without a delay and a slow line. */
  #dueAt(piece: Piece): number {
    const { delayMs, bytesPerSecond, busyUntil } = this.#rules
    const freeAt = bytesPerSecond > 0 ? (busyUntil.get(this.#direction) ?? 0) : 0
    return Math.max(freeAt, delayMs > 0 ? piece.dueAt : 0)
  }

  #send(piece: Piece): void {
    const cut = this.#rules.cuts.get(this.#direction)
    const { chopBytes, bytesPerSecond, busyUntil } = this.#rules
    const slowBytes = Math.ceil((bytesPerSecond * SLOW_PIECE_MS) / 1_000)
    const most = Math.min(cut?.left ?? Infinity, chopBytes > 0 ? chopBytes : Infinity, slowBytes || Infinity)
    const bytes = piece.bytes.subarray(0, most)
    if (bytesPerSecond > 0) {
      const freeAt = Math.max(performance.now(), busyUntil.get(this.#direction) ?? 0)
      busyUntil.set(this.#direction, freeAt + (1_000 * bytes.length) / bytesPerSecond)
    }
    this.#remove(piece, bytes.length)
    this.#rules.bytes.set(this.#direction, (this.#rules.bytes.get(this.#direction) ?? 0) + bytes.length)
    if (cut !== undefined) cut.left -= bytes.length
    const isLast = cut?.left === 0
    if (isLast) this.#rules.cuts.delete(this.#direction)
    this.#isBusy = true
    this.#to.write(bytes, () => {
      if (cut !== undefined && isLast) {
        this.#cut()
        cut.done()
        return
      }
      // A turn between pieces, or the receiver would find them as one.
      if (chopBytes > 0) setImmediate(() => this.#sent())
      else this.#sent()
    })
  }

  #sent(): void {
    this.#isBusy = false
    this.move()
  }

  #remove(piece: Piece, length: number): void {
    this.#waitingBytes -= length
    if (length === piece.bytes.length) this.#waiting.shift()
    else piece.bytes = piece.bytes.subarray(length)
  }

  #end(): void {
    this.#isStopped = true
    this.#to.end()
  }
}
